// A fault campaign: daemons that share the work are killed, stopped and drained at random while tasks come in. Nothing is lost,
// nothing ends twice, no answer is recorded twice.
// The suite runs a short one; `BEAVER_FAULTS_MS=60000 BEAVER_FAULTS_SEED=7 pnpm vitest run test/daemon-faults.test.ts` a long one.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { DaemonProcess } from './support/daemon.ts'
import { say, use } from './support/fake-provider.ts'
import { testServer, type TestServer } from './support/nats.ts'
import { only, testSystem, told } from './support/system.ts'

const campaignMs = Number(process.env['BEAVER_FAULTS_MS'] ?? 2_500)
const seed = Number(process.env['BEAVER_FAULTS_SEED'] ?? Date.now() % 1_000_000)

let server: TestServer
beforeAll(async () => void (server = await testServer()))
afterAll(() => server[Symbol.asyncDispose]())

/** Numbers from 0 to 1 that a seed repeats (mulberry32). */
function random(from: number): () => number {
  let state = from
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

it(
  `daemons that die, stall and drain end every task once (seed ${seed})`,
  async () => {
    await using system = await testSystem(server)
    const next = random(seed)
    system.provider.answerBy(async ({ results }) => {
      await sleep(20 + next() * 200)
      return results.length === 0 ? use(['echo', { text: 'a' }]) : say('done')
    })
    const start = (): Promise<DaemonProcess> => system.daemon({ BEAVER_TASKS_MAX: '20', BEAVER_DRAIN_MS: '300', BEAVER_OWNERS_LOST_MAX: '50' })
    const daemons = await Promise.all([start(), start(), start()])
    const tasks: string[] = []
    const until = Date.now() + campaignMs

    /** A daemon that goes away leaves requests unanswered: asked again with the same id they are harmless. */
    async function submit(request: { task: string; task_id: string; session_id?: string }): Promise<void> {
      for (let tries = 1; ; tries++) {
        try {
          await system.client.submit(request)
          tasks.push(request.task_id)
          return
        } catch (error) {
          if (tries === 30) throw error
          await sleep(100)
        }
      }
    }

    async function client(name: string): Promise<void> {
      for (let i = 0; Date.now() < until; i++) {
        await submit({ task: `task ${i}`, task_id: `${name}-${i}`, ...(i % 5 === 0 ? { session_id: `session-${name}` } : {}) })
        await sleep(30 + next() * 60)
      }
    }

    async function faults(): Promise<void> {
      while (Date.now() < until) {
        await sleep(300 + next() * 900)
        const place = Math.floor(next() * daemons.length)
        const daemon = daemons[place] as DaemonProcess
        const fault = next()
        if (fault < 0.3) {
          daemon.kill('SIGSTOP')
          void sleep(2_500).then(() => daemon.kill('SIGCONT'))
          continue
        }
        daemon.kill(fault < 0.75 ? 'SIGKILL' : 'SIGTERM')
        daemon.kill('SIGCONT')
        await daemon.exited
        daemons[place] = await start()
      }
    }

    await Promise.all([...['a', 'b', 'c', 'd'].map(client), faults()])
    expect(tasks.length).toBeGreaterThan(20)
    for (const task of tasks) {
      const events = await system.ended(task, 60_000)
      const ends = told(events).filter((type) => /^task_(completed|incomplete|failed|cancelled)$/.test(type))
      const answers = only(events, 'assistant_message_added').map(({ data }) => data.content)
      expect({ task, ends, answers }).toEqual({ task, ends: ['task_completed'], answers: [null, 'done'] })
    }
  },
  campaignMs + 120_000,
)
