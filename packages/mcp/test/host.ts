// A process with one MCP server, for tests of its sudden end: prints the server's pid; on SIGUSR2 it exits
// without closing.
import { join } from 'node:path'
import { startMcpServers } from '../src/client/start-mcp-servers.ts'

const [fixture = '', folder = '', how = ''] = process.argv.slice(2)
process.on('SIGUSR2', () => process.exit(0))
const connections = await startMcpServers(
  {
    // One that heeds neither the end of its stdin nor SIGTERM needs the kill at exit.
    fix: {
      command: process.execPath,
      args: [fixture, how === 'exit' ? 'stubborn' : 'plain'],
      env: { FIXTURE_DIR: folder },
      permission: 'allow',
      timeout_ms: 1_000,
      restarts_max: 0,
    },
  },
  { environment: { PATH: process.env['PATH'] }, pinsFile: join(folder, 'pins.json'), version: '0' },
)
await connections.settled
process.stdout.write(String(connections.status[0]?.pid))
