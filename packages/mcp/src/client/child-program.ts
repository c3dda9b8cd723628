// ChildProgram: one run of a program as a child process that can be ended with all it started. What its output means belongs to
// child-transport.ts.
// P1. It leads a process group of its own. When it ends, what is left of the group is killed: nothing it started stays.
// P2. Ending it takes bounded time: its stdin is closed, then it gets SIGTERM, then SIGKILL, each with a deadline.
// P3. Its end is told once. The reason is what we found wrong with it, or else how it ended.
// P4. What it may make us keep is bounded: the tail of its stderr, and the input that it does not read.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { Clock } from '@beaver/core'
import type { Address } from './server-spec.ts'

export interface ChildOptions {
  readonly clock: Clock
  /** Process groups that run. The owner of the set kills them if this process ends without closing. */
  readonly groups: Set<number>
  /** How long it may take to leave after its stdin was closed, and again after SIGTERM. Default: 1,500. */
  readonly leaveMsMax?: number
}

/** Who talks to the program. */
export interface ChildPeer {
  /** How much of its input it may leave unread. */
  readonly inputBytesMax: number
  onOutput(bytes: Buffer): void
  /** Called once. */
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

  /** Why it is gone; `null` while it runs or before it was started. */
  get ended(): string | null {
    return this.#ended
  }

  /** The last of what it wrote to stderr. */
  get stderrTail(): string {
    return this.#stderrTail
  }

  /** Its stdin. @throws when it does not run, or does not read what it was given */
  get input(): Writable {
    if (this.#child === null || this.#ended !== null || this.#child.stdin.writableEnded) throw new Error('the server is not running')
    if (this.#child.stdin.writableLength > this.#peer.inputBytesMax) throw new Error('the server does not read its input')
    return this.#child.stdin
  }

  /** Resolves when it runs. Rejects with the reason when it cannot be started. */
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
        const reason = error.code === 'ENOENT' ? `the program ${command} was not found ${place}` : `it could not be started: ${error.message}`
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

  /** Kills it because its output makes no sense any more. The first such reason is the reason of its end. */
  breakOff(reason: string): void {
    if (this.#fault !== null) return
    this.#fault = reason
    this.#signalGroup('SIGKILL')
  }

  /** Ends it. Every call waits for the same end. */
  end(): Promise<void> {
    return (this.#ending ??= this.#end())
  }

  #attach(started: Child): void {
    started.stdin.on('error', () => {}) // its end is told by `exit`
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
      // What it wrote last may still be in the pipes.
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
      // Nobody is left in it.
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
