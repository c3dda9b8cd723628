// An MCP server as a child process: the messages are lines on its stdin and stdout. The process itself is
// handled in child-program.ts. If the transport is closed, the program ends. If the program ends, the
// transport is closed. Lines that are not messages are skipped, up to a bound. A message is bounded.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { confined, packageRoot, type SandboxOptions } from '@beaver/agent/tool-kit'
import { type Clock, messageOf } from '@beaver/core'
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client'
import type { Address, McpProgramSpec } from './server-spec.ts'

export interface ChildTransport extends Transport {
  readonly pid: number | null
  /** It is never read here. The field shows a client that this is a child and not an HTTP server. */
  readonly stderr: null
  /** The reason of the child's end, or `null` while it runs and before it was started. */
  readonly ended: string | null
  /** The tail of its stderr. */
  readonly stderrTail: string
}

export const messageBytesMax = 32 * 1024 * 1024
const garbageLinesMax = 1_000

export function childTransport(
  address: Extract<Address, { kind: 'program' }>,
  options: ChildOptions,
): ChildTransport {
  let garbageLines = 0
  const split = lineSplitter(messageBytesMax, (line) => {
    try {
      transport.onmessage?.(deserializeMessage(line))
    } catch (error) {
      if (++garbageLines > garbageLinesMax)
        program.breakOff(`it wrote more than ${garbageLinesMax} lines to stdout that are not MCP`)
      else transport.onerror?.(new Error(`A line on stdout is not MCP: ${messageOf(error)}`))
    }
  })
  const program = new ChildProgram(address, options, {
    inputBytesMax: messageBytesMax,
    onOutput(bytes) {
      if (!split(bytes))
        program.breakOff(`it wrote a message longer than ${messageBytesMax / 1024 / 1024} MiB`)
    },
    onEnd: () => transport.onclose?.(),
  })
  // This is a plain object, because the client's negotiation replaces `start` for one call.
  const transport: ChildTransport = {
    stderr: null,
    get pid() {
      return program.pid
    },
    get ended() {
      return program.ended
    },
    get stderrTail() {
      return program.stderrTail
    },
    start: () => program.start(),
    send: (message: JSONRPCMessage) =>
      new Promise((resolve, reject) => {
        program.input.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()))
      }),
    close: () => program.end(),
  }
  return transport
}

// Splits bytes into lines with a bound. The chunks of a long line are kept until the line ends, so that it is
// copied only once.

/**
 * Returns a function that takes bytes. After a line grew beyond `lineBytesMax` it returns false and takes
 * nothing more.
 */
export function lineSplitter(
  lineBytesMax: number,
  onLine: (line: string) => void,
): (bytes: Buffer) => boolean {
  let begun: Buffer[] = []
  let begunBytes = 0
  return (bytes) => {
    let rest = bytes
    while (begunBytes <= lineBytesMax) {
      const end = rest.indexOf(10)
      if (begunBytes + (end === -1 ? rest.length : end) > lineBytesMax) {
        begun = []
        begunBytes = Infinity
        return false
      }
      if (end === -1) {
        if (rest.length > 0) begun.push(rest)
        begunBytes += rest.length
        return true
      }
      const line = Buffer.concat([...begun, rest.subarray(0, end)])
      begun = []
      begunBytes = 0
      rest = rest.subarray(end + 1)
      const text = line.toString('utf8').replace(/\r$/, '')
      if (text !== '') onLine(text)
    }
    return false
  }
}

// Confines the program of an MCP server by the setting of the operator. The program sees its own folder, the
// packages of the files that its command names, and the folders that its arguments and variables name: the
// operator wrote them down. It sees no home folder, no other process and nothing of Beaver. It has a network,
// unless the operator takes it away: most servers speak for a service.

type Program = Extract<Address, { kind: 'program' }>

/** @throws {ToolFailure} `sandbox_missing` */
export async function confineServer(
  program: Program,
  { network, env, writable = [] }: Pick<McpProgramSpec, 'network' | 'env' | 'writable'>,
  sandbox: SandboxOptions,
): Promise<Program> {
  const found = programOf(program)
  // A program that does not exist is started as it is, so that the reason is told.
  if (sandbox.mode === 'off' || found === null) return program
  const cwd = program.cwd === undefined ? process.cwd() : resolve(program.cwd)
  const named = [found, ...program.args.filter((arg) => arg.includes('/')).map((arg) => resolve(cwd, arg))]
  // What a variable of the configuration names, such as a file with memories, is the server's own.
  const own = Object.keys(env).flatMap((name) =>
    isAbsolute(program.env[name] ?? '') ? [program.env[name] ?? ''] : [],
  )
  const of = {
    cwd: program.cwd === undefined ? '/tmp' : cwd,
    writable: [
      ...(program.cwd === undefined ? [] : [cwd]),
      ...named.filter((path) => kindOf(path) === 'folder'),
      ...own,
      ...writable.map((path) => resolve(cwd, path)),
    ],
    readable: named.filter((path) => kindOf(path) === 'file').map((path) => packageRoot(realpathSync(path))),
    network: network !== false,
    path: program.env['PATH'],
  }
  // An argument that is relative to the folder of the daemon would lead nowhere in another folder.
  const args =
    program.cwd === undefined
      ? program.args.map((arg) =>
          arg.startsWith('.') && kindOf(resolve(cwd, arg)) !== 'none' ? resolve(cwd, arg) : arg,
        )
      : program.args
  const what = await confined(sandbox, of, [found, ...args])
  if (what.backend === 'none') return program
  return {
    ...program,
    command: what.program,
    args: what.args,
    env: { ...program.env, HOME: '/tmp', TMPDIR: '/tmp' },
  }
}

function programOf({ command, cwd, env }: Program): string | null {
  const places = command.includes('/')
    ? [resolve(cwd ?? '.', command)]
    : (env['PATH'] ?? '')
        .split(delimiter)
        .filter(isAbsolute)
        .map((folder) => resolve(folder, command))
  return places.find(isProgram) ?? null
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return kindOf(path) === 'file' && dirname(path) !== path
  } catch {
    return false
  }
}

function kindOf(path: string): 'folder' | 'file' | 'none' {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'file'
  } catch {
    return 'none'
  }
}

// ChildProgram: one run of a program as a child process that can be ended together with everything it
// started. What its output means is decided in child-transport.ts. The program leads its own process group.
// When it ends, the rest of the group is killed, so that nothing it started stays. The time to end it is
// bounded: its stdin is closed, then it gets SIGTERM, then SIGKILL, each with a deadline. Its end is reported
// once. The reason is the fault that we found in it, or else the way it ended. What it can make us keep is
// bounded: the tail of its stderr, and the input that it does not read.

interface ChildOptions {
  readonly clock: Clock
  /**
   * The process groups that run. The owner of the set kills them if this process ends without closing them.
   */
  readonly groups: Set<number>
  /** The time that it has to end after its stdin was closed, and again after SIGTERM. Default: 1,500. */
  readonly leaveMsMax?: number
}

/** The partner that talks to the program. */
interface ChildPeer {
  /** The number of bytes of its input that it may leave unread. */
  readonly inputBytesMax: number
  onOutput(bytes: Buffer): void
  /** The program calls this once. */
  onEnd(): void
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>

const stderrCharsMax = 4_000
const pipesMsMax = 250

class ChildProgram {
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
