// A provider for teams, as a process of its own, which takes `BENCH_LATENCY_MS` for every answer. "Run
// <workflow> with <n> agents" makes the root call that workflow; everybody else has done his part at once,
// and so has a root that is asked for anything else.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'

/** Starts one. */
export async function startTeamProvider(latencyMs: number): Promise<{ readonly url: string; stop(): void }> {
  const child = fork(import.meta.filename, {
    env: { ...process.env, BENCH_LATENCY_MS: String(latencyMs) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  return { url, stop: () => void child.kill() }
}

/** A task whose root calls this tool once. */
export const toolTask = (tool: string, args: object): string => `Call ${tool} with ${JSON.stringify(args)}.`
export const teamTask = (workflow: string, agents: number): string => `Run ${workflow} with ${agents} agents.`

const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 }
const completion = (message: object, finish_reason: string): string =>
  JSON.stringify({
    id: 'r',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'bench-model',
    choices: [{ index: 0, message, finish_reason }],
    usage,
  })

const final = completion({ role: 'assistant', content: 'Done.' }, 'stop')

function rootCall(request: string): string {
  const [, tool, args] = /Call (\w+) with (\{[^}]*\})\./.exec(request.replaceAll('\\"', '"')) ?? []
  if (tool !== undefined) {
    const call = { name: tool, arguments: args }
    return completion(
      { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] },
      'tool_calls',
    )
  }
  const [, name, agents] = /Run (\w+) with (\d+) agents/.exec(request) ?? []
  if (name === undefined) return final
  const slots = Array.from({ length: Number(agents) }, (_, i) => ({
    name: `agent ${i}`,
    instruction: `Do part ${i}.`,
  }))
  const call = { name, arguments: JSON.stringify({ task: 'A bench.', agents: slots }) }
  return completion(
    { role: 'assistant', content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] },
    'tool_calls',
  )
}

function serve(latencyMs: number): void {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const sent = Buffer.concat(chunks)
      const body =
        sent.includes('<instruction ') || sent.includes('"role":"tool"') ? final : rootCall(sent.toString())
      const answer = (): void => {
        response.writeHead(200, {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        })
        response.end(body)
      }
      if (latencyMs === 0) answer()
      else setTimeout(answer, latencyMs)
    })
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    process.send?.({ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1` })
  })
  process.on('disconnect', () => process.exit(0))
}

if (import.meta.main) serve(Number(process.env['BENCH_LATENCY_MS']))
