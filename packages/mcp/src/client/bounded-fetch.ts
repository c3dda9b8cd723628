// A fetch for one MCP server over HTTP that bounds bodies: each message of an event stream, or the whole of
// any other answer.
import { messageBytesMax } from './child-transport.ts'

export async function boundedFetch(input: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init)
  if (response.body === null) return response
  const streams = response.headers.get('content-type')?.includes('text/event-stream') === true
  const { status, statusText, headers } = response
  return new Response(response.body.pipeThrough(bound(streams)), { status, statusText, headers })
}

/**
 * Fails after `messageBytesMax` bytes. With `streams`, the count starts again after each chunk that contains
 * an empty line.
 */
function bound(streams: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length
      if (streams && endsMessage(chunk)) bytes = 0
      if (bytes > messageBytesMax)
        controller.error(
          new Error(`The server sent more than ${messageBytesMax / 1024 / 1024} MiB in one message.`),
        )
      else controller.enqueue(chunk)
    },
  })
}

function endsMessage(chunk: Uint8Array): boolean {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  return text.includes('\n\n') || text.includes('\r\n\r\n')
}
