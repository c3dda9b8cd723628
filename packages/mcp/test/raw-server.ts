// An MCP server for tests that speaks the protocol of 2025 by hand, so that it can say more than a
// well-behaved server says. FIXTURE_DIR is its folder: each request for its list appends a line to `calls`.
// RAW_TOOLS: how many tools; RAW_CHARS: how long each description is; RAW_FLOOD: how often it says that its
// list has changed after each list. The file `extra` names one tool more. RAW_LIST: its tools, as JSON,
// instead of those; RAW_RESULT: the result of each call, as JSON. RAW_PROGRESS: what it tells of the progress
// of each call that has a token, as a list in JSON; such a call has its result when the file `finish` is
// there.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const {
  FIXTURE_DIR = '.',
  RAW_TOOLS = '1',
  RAW_CHARS = '10',
  RAW_FLOOD = '0',
  RAW_LIST,
  RAW_RESULT,
  RAW_PROGRESS = '[]',
} = process.env
const say = (message: object): void =>
  void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const inputSchema = { type: 'object' }

function tools(): object[] {
  if (RAW_LIST !== undefined) return JSON.parse(RAW_LIST) as object[]
  const extra = join(FIXTURE_DIR, 'extra')
  const more = existsSync(extra)
    ? [{ name: readFileSync(extra, 'utf8').trim(), description: 'Appeared later.', inputSchema }]
    : []
  return [
    ...Array.from({ length: Number(RAW_TOOLS) }, (_, i) => ({
      name: `t${i}`,
      description: 'x'.repeat(Number(RAW_CHARS)),
      inputSchema,
    })),
    ...more,
  ]
}

function called(id: number, progressToken: unknown): void {
  const answer = (): void =>
    say({
      id,
      result:
        RAW_RESULT === undefined
          ? { content: [{ type: 'text', text: 'called' }] }
          : (JSON.parse(RAW_RESULT) as object),
    })
  const told = JSON.parse(RAW_PROGRESS) as object[]
  if (progressToken === undefined || told.length === 0) return answer()
  for (const each of told) say({ method: 'notifications/progress', params: { progressToken, ...each } })
  const finish = join(FIXTURE_DIR, 'finish')
  const looking = setInterval(() => {
    if (!existsSync(finish)) return
    clearInterval(looking)
    answer()
  }, 10)
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const { id, method, params } = JSON.parse(line) as {
      id?: number
      method: string
      params?: { _meta?: { progressToken?: unknown } }
    }
    if (id === undefined) return
    if (method === 'initialize')
      return say({
        id,
        result: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'raw', version: '0' },
        },
      })
    if (method === 'tools/call') return called(id, params?._meta?.progressToken)
    if (method !== 'tools/list') return say({ id, error: { code: -32_601, message: 'no such method' } })
    appendFileSync(join(FIXTURE_DIR, 'calls'), 'list\n')
    say({ id, result: { tools: tools() } })
    for (let i = 0; i < Number(RAW_FLOOD); i++) say({ method: 'notifications/tools/list_changed' })
  })
  .on('close', () => process.exit(0))
