// An MCP server as a child process: messages are lines on its stdin and stdout, its stderr is kept as a short tail.
// C1. It leads a process group of its own, and what is left of the group is killed when it ends: nothing it started stays.
// C2. Closing ends it: stdin closed, then SIGTERM, then SIGKILL, each with a deadline. C3. Lines that are no messages are
//     passed over, up to a number. C4. What it may make us keep is bounded: one message, the stderr tail, unread input.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { type Clock, messageOf } from '@beaver/core'
import { deserializeMessage, type JSONRPCMessage, serializeMessage, type Transport } from '@modelcontextprotocol/client'
import { lineSplitter } from './line-splitter.ts'
import type { Address } from './server-spec.ts'

export interface ChildTransport extends Transport {
  readonly pid: number | null
  /** Never read here; a client tells a child from an HTTP server by it. */
  readonly stderr: null
  /** Why the child is gone; `null` while it runs or before it was started. */
  readonly ended: string | null
  /** The last of what it wrote to stderr. */
  readonly stderrTail: string
}

export interface ChildOptions {
  readonly clock: Clock
  /** Process groups that run; killed by whoever owns the set if this process ends without closing. */
  readonly groups: Set<number>
  /** What it has for leaving after its stdin was closed, and again after SIGTERM. Default: 1,500. */
  readonly leaveMsMax?: number
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>

export const messageBytesMax = 32 * 1024 * 1024
const garbageLinesMax = 1_000
const stderrCharsMax = 4_000
const pipesMsMax = 250

export function childTransport(program: Extract<Address, { kind: 'program' }>, options: ChildOptions): ChildTransport {
  const leaveMsMax = options.leaveMsMax ?? 1_500
  const { promise: over, resolve: finishOver } = Promise.withResolvers<void>()
  let child: Child | null = null
  let ended: string | null = null
  let fault: string | null = null
  let stderrTail = ''
  let garbageLines = 0
  let closing: Promise<void> | null = null

  const split = lineSplitter(messageBytesMax, (line) => {
    try {
      transport.onmessage?.(deserializeMessage(line))
    } catch (error) {
      if (++garbageLines > garbageLinesMax) breakOff(`it wrote more than ${garbageLinesMax} lines to stdout that are not MCP`)
      else transport.onerror?.(new Error(`A line on stdout is not MCP: ${messageOf(error)}`))
    }
  })

  /** It cannot be talked to any more: it is ended, and the reason is what we found, not how it died. */
  function breakOff(reason: string): void {
    if (fault !== null) return
    fault = reason
    signalGroup('SIGKILL')
  }

  function signalGroup(signal: NodeJS.Signals): void {
    if (child?.pid === undefined) return
    try {
      process.kill(-child.pid, signal)
    } catch {
      // nobody is left in it
    }
  }

  function finish(reason: string): void {
    if (ended !== null) return
    ended = fault ?? reason
    for (const stream of [child?.stdin, child?.stdout, child?.stderr]) stream?.destroy()
    finishOver()
    transport.onclose?.()
  }

  function attach(started: Child): void {
    started.stdin.on('error', () => {}) // its end is told by `exit`
    started.stdout.on('error', () => {})
    started.stderr.on('error', () => {})
    started.stdout.on('data', (bytes: Buffer) => {
      if (fault === null && !split(bytes)) breakOff(`it wrote a message longer than ${messageBytesMax / 1024 / 1024} MiB`)
    })
    started.stderr.on('data', (bytes: Buffer) => {
      stderrTail = (stderrTail + bytes.toString('utf8')).slice(-stderrCharsMax)
    })
    started.once('exit', (code, signal) => {
      const reason = signal === null ? `it ended with exit code ${code}` : `it was ended by ${signal}`
      signalGroup('SIGKILL')
      if (started.pid !== undefined) options.groups.delete(started.pid)
      // What it wrote last may still be in the pipes.
      const late = options.clock.after(pipesMsMax, () => finish(reason))
      started.once('close', () => {
        late.cancel()
        finish(reason)
      })
    })
  }

  async function leaves(): Promise<boolean> {
    const { promise: late, resolve } = Promise.withResolvers<false>()
    const timer = options.clock.after(leaveMsMax, () => resolve(false))
    const left = await Promise.race([over.then(() => true), late])
    timer.cancel()
    return left
  }

  async function end(): Promise<void> {
    if (child === null || ended !== null) return
    child.stdin.end()
    if (await leaves()) return
    signalGroup('SIGTERM')
    if (await leaves()) return
    signalGroup('SIGKILL')
    if (!(await leaves())) finish('it could not be killed')
  }

  // A plain object: the client's negotiation exchanges `start` for one call.
  const transport: ChildTransport = {
    stderr: null,
    get pid() {
      return child?.pid ?? null
    },
    get ended() {
      return ended
    },
    get stderrTail() {
      return stderrTail
    },
    start: () =>
      new Promise((resolve, reject) => {
        const started: Child = spawn(program.command, program.args, {
          ...(program.cwd === undefined ? {} : { cwd: program.cwd }),
          env: program.env,
          detached: true,
          stdio: ['pipe', 'pipe', 'pipe'],
          windowsHide: true,
        })
        child = started
        started.once('error', (error: NodeJS.ErrnoException) => {
          if (started.pid !== undefined) return
          const place = program.cwd === undefined ? 'on PATH' : `on PATH, or there is no folder ${program.cwd}`
          const reason = error.code === 'ENOENT' ? `the program ${program.command} was not found ${place}` : `it could not be started: ${error.message}`
          finish(reason)
          reject(new Error(reason, { cause: error }))
        })
        started.once('spawn', () => {
          if (started.pid !== undefined) options.groups.add(started.pid)
          resolve()
        })
        attach(started)
      }),
    send: (message: JSONRPCMessage) =>
      new Promise((resolve, reject) => {
        if (child === null || ended !== null || child.stdin.writableEnded) return reject(new Error('the server is not running'))
        if (child.stdin.writableLength > messageBytesMax) return reject(new Error('the server does not read its input'))
        child.stdin.write(serializeMessage(message), (error) => (error ? reject(error) : resolve()))
      }),
    close: () => (closing ??= end()),
  }
  return transport
}
