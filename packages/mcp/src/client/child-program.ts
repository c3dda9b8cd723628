// ChildProgram: one run of a program as a child process that can be ended together with everything it
// started. What its output means is decided in child-transport.ts. The program leads its own process group.
// When it ends, the rest of the group is killed, so that nothing it started stays. The time to end it is
// bounded: its stdin is closed, then it gets SIGTERM, then SIGKILL, each with a deadline. Its end is reported
// once. The reason is the fault that we found in it, or else the way it ended. What it can make us keep is
// bounded: the tail of its stderr, and the input that it does not read.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Clock } from '@beaver/core'
import type { Address } from './server-spec.ts'

export interface ChildOptions {
  readonly clock: Clock
  /**
   * The process groups that run. The owner of the set kills them if this process ends without closing them.
   */
  readonly groups: Set<number>
  /** The time that it has to end after its stdin was closed, and again after SIGTERM. Default: 1,500. */
  readonly leaveMsMax?: number
}

/** The partner that talks to the program. */
export interface ChildPeer {
  /** The number of bytes of its input that it may leave unread. */
  readonly inputBytesMax: number
  onOutput(bytes: Buffer): void
  /** The program calls this once. */
  onEnd(): void
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>

const stderrCharsMax = 4_000
const pipesMsMax = 250

export class ChildProgram {
  readonly #program: Extract<Address, { kind: 'program' }>
  readonly #options: ChildOptions
  readonly #peer: ChildPeer
  readonly #over = Promise.withResolvers<void>()
  #child: Child | null = null
  #ended: string | null = null
  #fault: string | null = null
  #stderrTail = ''
  #ending: Promise<void> | null = null

  constructor(program: Extract<Address, { kind: 'program' }>, options: ChildOptions, peer: ChildPeer) {
    this.#program = program
    this.#options = options
    this.#peer = peer
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  /** The reason of its end, or `null` while it runs and before it was started. */
  get ended(): string | null {
    return this.#ended
  }

  /** The tail of its stderr. */
  get stderrTail(): string {
    return this.#stderrTail
  }

  /** Its stdin. @throws if it does not run, or if it does not read its input */
  get input(): Writable {
    if (this.#child === null || this.#ended !== null || this.#child.stdin.writableEnded)
      throw new Error('the server is not running')
    if (this.#child.stdin.writableLength > this.#peer.inputBytesMax)
      throw new Error('the server does not read its input')
    return this.#child.stdin
  }

  /** Resolves when it runs. Rejects with the reason if it cannot be started. */
  start(): Promise<void> {
    const { command, args, cwd, env } = this.#program
    return new Promise((resolve, reject) => {
      const started: Child = spawn(command, args, {
        ...(cwd === undefined ? {} : { cwd }),
        env,
        detached: true,
        stdio: ['pipe', 'pipe', 'pipe'],
        windowsHide: true,
      })
      this.#child = started
      started.once('error', (error: NodeJS.ErrnoException) => {
        if (started.pid !== undefined) return
        const place = cwd === undefined ? 'on PATH' : `on PATH, or there is no folder ${cwd}`
        const reason =
          error.code === 'ENOENT'
            ? `the program ${command} was not found ${place}`
            : `it could not be started: ${error.message}`
        this.#finish(reason)
        reject(new Error(reason, { cause: error }))
      })
      started.once('spawn', () => {
        if (started.pid !== undefined) this.#options.groups.add(started.pid)
        resolve()
      })
      this.#attach(started)
    })
  }

  /** Kills it because its output is unusable. The first such reason is the reason of its end. */
  breakOff(reason: string): void {
    if (this.#fault !== null) return
    this.#fault = reason
    this.#signalGroup('SIGKILL')
  }

  /** Ends it. All calls wait for the same end. */
  end(): Promise<void> {
    return (this.#ending ??= this.#end())
  }

  #attach(started: Child): void {
    started.stdin.on('error', () => {}) // `exit` reports its end.
    started.stdout.on('error', () => {})
    started.stderr.on('error', () => {})
    started.stdout.on('data', (bytes: Buffer) => {
      if (this.#fault === null) this.#peer.onOutput(bytes)
    })
    started.stderr.on('data', (bytes: Buffer) => {
      this.#stderrTail = (this.#stderrTail + bytes.toString('utf8')).slice(-stderrCharsMax)
    })
    started.once('exit', (code, signal) => {
      const reason = signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`
      this.#signalGroup('SIGKILL')
      if (started.pid !== undefined) this.#options.groups.delete(started.pid)
      // Its last output may still be in the pipes.
      const late = this.#options.clock.after(pipesMsMax, () => this.#finish(reason))
      started.once('close', () => {
        late.cancel()
        this.#finish(reason)
      })
    })
  }

  #signalGroup(signal: NodeJS.Signals): void {
    if (this.#child?.pid === undefined) return
    try {
      process.kill(-this.#child.pid, signal)
    } catch {
      // The group has no process any more.
    }
  }

  #finish(reason: string): void {
    if (this.#ended !== null) return
    this.#ended = this.#fault ?? reason
    for (const stream of [this.#child?.stdin, this.#child?.stdout, this.#child?.stderr]) stream?.destroy()
    this.#over.resolve()
    this.#peer.onEnd()
  }

  async #end(): Promise<void> {
    if (this.#child === null || this.#ended !== null) return
    this.#child.stdin.end()
    if (await this.#leaves()) return
    this.#signalGroup('SIGTERM')
    if (await this.#leaves()) return
    this.#signalGroup('SIGKILL')
    if (!(await this.#leaves())) this.#finish('it could not be killed')
  }

  async #leaves(): Promise<boolean> {
    const { clock, leaveMsMax = 1_500 } = this.#options
    const { promise: late, resolve } = Promise.withResolvers<false>()
    const timer = clock.after(leaveMsMax, () => resolve(false))
    const left = await Promise.race([this.#over.promise.then(() => true), late])
    timer.cancel()
    return left
  }
}
