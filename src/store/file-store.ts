import './schemas.ts';

/** The store with its schemas: reads everything, and says of a bad file what is wrong with it. */
export { FileStore } from './store-files.ts';
