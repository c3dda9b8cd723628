// Reads the pieces of a result one by one, before the client of the protocol refuses all of them because of
// one.
import {
  type ContentBlock,
  type JSONRPCMessage,
  specTypeSchemas,
  type Transport,
} from '@modelcontextprotocol/client'

/**
 * From now on, a piece of content that cannot be read becomes a text that says so. The transport is
 * connected.
 */
export function keepReadable(transport: Transport): void {
  const { onmessage } = transport
  if (onmessage === undefined) return
  Object.assign(transport, {
    onmessage: (message, extra) => onmessage(readable(message), extra),
  } satisfies Pick<Transport, 'onmessage'>)
}

function readable(message: JSONRPCMessage): JSONRPCMessage {
  if (!('result' in message) || !Array.isArray(message.result['content'])) return message
  return {
    ...message,
    result: { ...message.result, content: (message.result['content'] as unknown[]).map(blockOf) },
  }
}

function blockOf(given: unknown): ContentBlock {
  const read = specTypeSchemas.ContentBlock['~standard'].validate(given)
  if (read.issues === undefined) return given as ContentBlock
  const { type } = (given ?? {}) as { readonly type?: unknown }
  return {
    type: 'text',
    text: `[content of the kind ${typeof type === 'string' ? JSON.stringify(type.slice(0, 100)) : 'unknown'}, which Beaver cannot read]`,
  }
}
