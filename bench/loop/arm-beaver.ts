// (b) Beaver with everything on: tasks submitted over NATS to a daemon with worker threads, every event journaled to a
// nats-server that syncs each write, and this client waiting for the terminal event in the journal.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clientOn } from '@beaver/client'
import { isTerminalTaskEvent } from '@beaver/core'
import { connectNats, followJournal, startEmbeddedServer, subjectsOf } from '@beaver/nats'
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

  const subjects = subjectsOf('default')
  const nc = await connectNats({ url: server.url, name: 'bench' })
  const client = clientOn(nc, subjects, 'local')
  const waiting = new Map<string, (status: string) => void>()
  void (async () => {
    for await (const { messages } of followJournal(nc, subjects, { from: 1, signal: new AbortController().signal })) {
      for (const { log, payload } of messages) {
        const type = /"type":"beaver\.(task_[a-z]+)\.v1"\}\]$/.exec(Buffer.from(payload).toString('latin1', Math.max(0, payload.length - 80)))?.[1]
        if (type !== undefined && isTerminalTaskEvent(type)) waiting.get(log.task)?.(type)
      }
    }
  })()
  let last = 0
  return async () => {
    const task_id = `bench_${process.pid}_${++last}`
    const ended = new Promise<string>((resolve) => waiting.set(task_id, resolve))
    await client.submit({ task: 'Say hello with the tool.', task_id, workspace: '/' })
    const status = await ended
    waiting.delete(task_id)
    if (status !== 'task_completed') throw new Error(`the task ended with ${status}`)
  }
})
