// An MCP server as a child process: the messages are lines on its stdin and stdout. The process itself is
// handled in child-program.ts. If the transport is closed, the program ends. If the program ends, the
// transport is closed. Lines that are not messages are skipped, up to a bound. A message is bounded.
import { messageOf } from '@beaver/core'
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client'
import { type ChildOptions, ChildProgram } from './child-program.ts'
import type { Address } from './server-spec.ts'

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
