export { packageDir } from '../config/package-dir.ts';
