// An MCP server as a child process: the messages are lines on its stdin and stdout. The program and the
// transport end together. Lines that are not messages are skipped, up to a bound.
import type { ChildProcessByStdio } from 'node:child_process'
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { delimiter, dirname, isAbsolute, resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { confined, packageRoot, type SandboxOptions } from '@beaver/agent/tool-kit'
import { type Clock, messageOf } from '@beaver/core'
import { spawn } from '@beaver/platform/programs'
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client'
import type { Address, McpProgramSpec } from './server-spec.ts'

export interface ChildTransport extends Transport {
  readonly pid: number | null
  /** It is never read here. It tells the client that this is a child and not an HTTP server. */
  readonly stderr: null
  /** Why the child ended, or `null` before that. */
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
  // A plain object, because the client's negotiation replaces `start` for one call.
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

/**
 * Splits bytes into lines. Returns false and takes nothing more after a line grew beyond `lineBytesMax`. The
 * chunks of a long line are copied only once, when the line ends.
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

// Confines the program of an MCP server, as the operator configured it. The program sees its own folder, the
// packages of the files in its command, and the folders in its arguments and variables, because the operator
// wrote them. It sees no home folder, no other process and nothing of Beaver. It has a network by default,
// because most servers speak for a service.

type Program = Extract<Address, { kind: 'program' }>

/** @throws {ToolFailure} `sandbox_missing` */
export async function confineServer(
  program: Program,
  { network, env, writable = [] }: Pick<McpProgramSpec, 'network' | 'env' | 'writable'>,
  sandbox: SandboxOptions,
): Promise<Program> {
  const found = programOf(program)
  // A missing program is started without a sandbox, so that its own error is reported.
  if (sandbox.mode === 'off' || found === null) return program
  const cwd = program.cwd === undefined ? process.cwd() : resolve(program.cwd)
  const named = [found, ...program.args.filter((arg) => arg.includes('/')).map((arg) => resolve(cwd, arg))]
  // A path in a configured variable, such as a file with memories, belongs to the server.
  const own = Object.keys(env).flatMap((name) =>
    isAbsolute(program.env[name] ?? '') ? [program.env[name] ?? ''] : [],
  )
  const confinement = {
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
  // An argument that is relative to the daemon's folder would lead nowhere in another folder.
  const args =
    program.cwd === undefined
      ? program.args.map((arg) =>
          arg.startsWith('.') && kindOf(resolve(cwd, arg)) !== 'none' ? resolve(cwd, arg) : arg,
        )
      : program.args
  const sandboxed = await confined(sandbox, confinement, [found, ...args])
  if (sandboxed.backend === 'none') return program
  return {
    ...program,
    command: sandboxed.program,
    args: sandboxed.args,
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

// One run of a program as the leader of its process group. At its end the rest of the group is killed. To end
// it, its stdin is closed, then it gets SIGTERM, then SIGKILL, each with a deadline.

interface ChildOptions {
  readonly clock: Clock
  /** The running process groups. Their owner kills them if this process ends without closing them. */
  readonly groups: Set<number>
  /** The time to end after its stdin was closed, and again after SIGTERM. Default: 1,500. */
  readonly leaveMsMax?: number
}

interface ChildPeer {
  /** The most bytes of its input that it may leave unread. */
  readonly inputBytesMax: number
  onOutput(bytes: Buffer): void
  /** Called once. */
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

  /** Why it ended, or `null` before that. A fault that we found comes before the exit code. */
  get ended(): string | null {
    return this.#ended
  }

  get stderrTail(): string {
    return this.#stderrTail
  }

  /** @throws if it does not run, or does not read its input */
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

  /** Kills it because its output is unusable. The first reason counts as the reason of its end. */
  breakOff(reason: string): void {
    if (this.#fault !== null) return
    this.#fault = reason
    this.#signalGroup('SIGKILL')
  }

  /** All calls wait for the same end. */
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
