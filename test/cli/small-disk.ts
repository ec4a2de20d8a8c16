import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Ended, shell, type World } from './support.ts';

const FAULTS = fileURLToPath(new URL('./fixtures/full-disk.mjs', import.meta.url));
const ROOT = process.getuid?.() === 0;

/**
 * The world's state directory on a file system of its own, a quarter of a megabyte large. Only the commands that are started through
 * it see the mount, which goes away with them. Where nothing may be mounted, the same errors are raised on writing.
 */
export class SmallDisk {
  readonly #world: World;
  readonly #holder: ChildProcess | undefined;

  private constructor(world: World, holder: ChildProcess | undefined) {
    this.#world = world;
    this.#holder = holder;
  }

  static async mount(world: World): Promise<SmallDisk> {
    mkdirSync(world.stateDir, { recursive: true });
    const script = 'mount -t tmpfs -o size=256k none "$0" && echo mounted && exec cat';
    const flags = ROOT ? ['--mount'] : ['--map-root-user', '--mount'];
    const holder = spawn('unshare', [...flags, 'sh', '-c', script, world.stateDir], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const failed = once(holder, 'error').then(() => false);
    const ended = once(holder, 'close').then(() => false);
    const mounted = once(holder.stdout, 'data').then(() => true);
    const disk = new SmallDisk(world, (await Promise.race([failed, ended, mounted])) ? holder : undefined);
    if (disk.#holder) cpSync(world.stateDir, disk.path(world.stateDir), { recursive: true });
    return disk;
  }

  /** Where the test itself finds a file of the state directory. */
  path(file: string): string {
    return this.#holder ? `/proc/${this.#holder.pid}/root${file}` : file;
  }

  fill(): void {
    if (!this.#holder) {
      this.#fault('ENOSPC');
      return;
    }
    const file = this.path(join(this.#world.stateDir, 'ballast'));
    try {
      for (let blocks = 1; blocks < 1000; blocks++) writeFileSync(file, Buffer.alloc(4096), { flag: 'a' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
    throw new Error('the small disk does not get full');
  }

  free(): void {
    if (this.#holder) rmSync(this.path(join(this.#world.stateDir, 'ballast')));
    else rmSync(this.#flag);
  }

  async readOnly(): Promise<void> {
    if (!this.#holder) {
      this.#fault('EROFS');
      return;
    }
    const { stateDir } = this.#world;
    // A second mount at the same place: the first may have files that are open for writing.
    await this.#inside('mount', '--bind', stateDir, stateDir);
    await this.#inside('mount', '-o', 'remount,bind,ro', stateDir);
  }

  /** Takes `readOnly` back. */
  async writable(): Promise<void> {
    // Something may just be reading there.
    if (this.#holder) await this.#inside('umount', '--lazy', this.#world.stateDir);
    else rmSync(this.#flag);
  }

  async #inside(...command: string[]): Promise<void> {
    const child = spawn('nsenter', [...this.#enter(), ...command]);
    const [code] = (await once(child, 'close')) as [number];
    if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}`);
  }

  /** Runs a command that has its state there. */
  cli(...args: string[]): Promise<Ended> {
    return this.cliWith({}, ...args);
  }

  /** The same with more variables. */
  cliWith(env: NodeJS.ProcessEnv, ...args: string[]): Promise<Ended> {
    const line = `${this.#holder ? `exec nsenter ${this.#enter().join(' ')} ` : 'exec '}$SIGNALBOX ${args.join(' ')}`;
    const faults = {
      NODE_OPTIONS: `--import=${FAULTS}`,
      FULL_DISK: this.#world.stateDir,
      FULL_DISK_IS: this.#flag,
    };
    return shell(this.#world, line, '/bin/sh', this.#holder ? env : { ...faults, ...env });
  }

  async unmount(): Promise<void> {
    if (!this.#holder) return;
    this.#holder.stdin?.end();
    if (this.#holder.exitCode === null) await once(this.#holder, 'close');
  }

  #enter(): string[] {
    const user = ROOT ? [] : ['--user', '--preserve-credentials'];
    return ['--target', String(this.#holder?.pid), '--mount', ...user];
  }

  get #flag(): string {
    return join(this.#world.dir, 'disk-is');
  }

  #fault(code: string): void {
    writeFileSync(this.#flag, code);
  }
}
