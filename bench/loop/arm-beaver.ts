// (b) Beaver with everything on: tasks submitted over NATS to a daemon with worker threads, every event journaled to a
// nats-server that syncs each write, and this client answered with the result when the task has ended.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectBeaver } from '@beaver/client'
import { startEmbeddedServer } from '@beaver/nats'
import { serveArm } from './arm.ts'

await serveArm(async (baseURL) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'beaver-bench-'))
  const { natsServer } = JSON.parse(readFileSync(new URL('../../.beaver/tools/paths.json', import.meta.url), 'utf8')) as { natsServer: string }
  const server = await startEmbeddedServer({ binary: natsServer, dataDir })
  const supervisor = fork(new URL('../../apps/supervisor/src/main.ts', import.meta.url), {
    env: { ...process.env, NATS_URL: server.url, OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: 'bench', BEAVER_MODEL: 'bench-model', BEAVER_HOME: dataDir },
    stdio: ['ignore', 'ignore', process.env['BENCH_DEBUG'] === undefined ? 'ignore' : 'inherit', 'ipc'],
    execArgv: (process.env['BENCH_SUPERVISOR_ARGS'] ?? '').split(' ').filter((arg) => arg !== ''),
  })
  await once(supervisor, 'message')
  process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }))

  const client = await connectBeaver({ url: server.url, namespace: 'default', tenant: 'local' })
  return {
    pids: [server.pid, supervisor.pid as number],
    loop: async () => {
      const { status, final_output } = await client.run({ task: 'Say hello with the tool.', workspace: '/' })
      if (status !== 'completed' || final_output !== 'The tool said hello.') throw new Error(`the task ended ${status}: ${final_output}`)
    },
  }
})
