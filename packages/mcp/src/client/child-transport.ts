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
import { lineSplitter } from './line-splitter.ts'
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
