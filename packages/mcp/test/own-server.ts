// Beaver's own MCP server for tests, as a program. No daemon is behind it: a call that reaches it is a line
// of `calls` in FIXTURE_DIR.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { serveMcpStdio, workflowServers } from '../src/index.ts'
import { calledFor } from './unanswered-caller.ts'

const caller = calledFor((workflow) =>
  appendFileSync(join(process.env['FIXTURE_DIR'] ?? '.', 'calls'), `${workflow}\n`),
)
const serving = serveMcpStdio(workflowServers({ category: 'team_workflow', version: '1.0.0', caller }), {
  input: process.stdin,
  output: process.stdout,
})
await serving.closed
