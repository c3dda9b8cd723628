// A provider without latency, as a process of its own: first a tool call, after a tool result the final
// answer.
import { createServer } from 'node:http'

const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
/**
 * The answer's text after its id. Every answer has an id of its own: LangGraph.js takes two messages of one
 * id for one.
 */
const completion = (message: unknown, finish_reason: string): string =>
  JSON.stringify({
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'bench-model',
    choices: [{ index: 0, message, finish_reason }],
    usage,
  }).slice(1)
const toolCall = completion(
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'call_1', type: 'function', function: { name: 'echo', arguments: '{"text":"hello"}' } },
    ],
  },
  'tool_calls',
)
const final = completion({ role: 'assistant', content: 'The tool said hello.' }, 'stop')
let answers = 0
const toolRole = Buffer.from('"role":"tool"')

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = `{"id":"chatcmpl-${++answers}",${Buffer.concat(chunks).includes(toolRole) ? final : toolCall}`
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1` })
})
process.on('disconnect', () => process.exit(0))
