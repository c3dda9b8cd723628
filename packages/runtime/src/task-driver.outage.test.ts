// A provider that is away, and a turn under a limit that is far: the daemon lets go of the task, and its run
// goes on counting.
import { type ChatAnswer, type ChatProvider, type ChatRequest, ProviderError } from '@beaver/agent'
import { pause } from '@beaver/core'
import { type Entry, type RecordedEvent, splitBatch } from '@beaver/core/journal'
import { policiesWith } from '@beaver/core/supervision'
import { describe, expect, it } from 'vitest'
import { typesOf, world } from '../test/kit.ts'

const minute = 60_000
const answer: ChatAnswer = {
  content: 'back',
  toolCalls: [],
  finishReason: 'stop',
  usage: { input_tokens: 1, output_tokens: 1, calls: 1 },
  model: 'm',
  responseId: null,
}
const failures = (events: readonly RecordedEvent[]) =>
  events.flatMap((each) => (each.type === 'provider_call_failed' ? [each.data] : []))

/** The type of the last event, without a look at the whole log. */
const newest = (entry: Entry | null): string | null =>
  entry === null
    ? null
    : (/^beaver\.(\w+)\.v1$/.exec(splitBatch(entry.payload).at(-1)?.type ?? '')?.[1] ?? null)

describe('an endpoint that is away', () => {
  function away(untilMs: number) {
    const at = world()
    const begun = at.clock.now()
    const provider: ChatProvider = {
      name: 'p',
      model: 'm',
      async chat() {
        if (at.clock.now() < begun + untilMs)
          throw new ProviderError('provider_unavailable', 'It cannot be reached.')
        return answer
      },
    }
    return { ...at, provider, passedMs: () => at.clock.now() - begun }
  }

  it('for five minutes holds nothing of the daemon, and the task completes', async () => {
    const { daemon, submit, passing, provider, passedMs, events, journal } = away(5 * minute)
    const one = daemon({ provider })
    const log = await submit()
    let heldMs = 0
    await passing(
      'it has ended',
      async () => {
        if (one.tasks.size > 0) heldMs += 1_000
        return newest(await journal.last(log)) === 'task_completed'
      },
      1_000,
    )
    const all = await events(log)
    expect(passedMs()).toBeLessThan(6 * minute)
    expect(typesOf(all)).toContain('task_suspended')
    expect(all.find((each) => each.type === 'task_suspended')?.data).toMatchObject({
      waits_for: 'provider',
      reason: 'It cannot be reached.',
    })
    expect(failures(all).map(({ tries }) => tries)).toEqual(failures(all).map((_, index) => index + 1))
    // It is held for a moment before each pause is known to be one.
    expect(heldMs).toBeLessThan(3 * minute)
  })

  it('for longer than the bound fails the task with the class and the time, however many daemons drove it', async () => {
    const { daemon, submit, passing, provider, events, journal } = away(10 * 60 * minute)
    const policies = policiesWith({ outageMsMax: 5 * minute })
    let one = daemon({ provider, policies })
    const log = await submit()
    for (let daemons = 0; daemons < 3; daemons++) {
      await passing('it waits', async () => failures(await events(log)).length > 3 * (daemons + 1), 500)
      one.kill()
      one = daemon({ provider, policies })
    }
    await passing('it has ended', async () => newest(await journal.last(log)) === 'task_failed', 1_000)
    const all = await events(log)
    expect(all.at(-1)?.data).toMatchObject({
      failure: {
        class: 'provider_unavailable',
        message: expect.stringMatching(/tried \d+ times in 5 minutes\)$/),
      },
    })
    const waited = failures(all).reduce(
      (sum, { retry_in_ms, duration_ms = 0 }) => sum + (retry_in_ms ?? 0) + duration_ms,
      0,
    )
    expect(waited).toBe(5 * minute)
  })
})

describe('a turn that is far away', () => {
  /** Every call that is not admitted reserves a turn 20 s away. */
  function limited(at: ReturnType<typeof world>) {
    const calls: { readonly admitted: boolean; readonly atMs: number }[] = []
    const begun = at.clock.now()
    const provider: ChatProvider = {
      name: 'p',
      model: 'm',
      async chat({ admitted = false, waitTurn, signal }: ChatRequest) {
        calls.push({ admitted, atMs: at.clock.now() - begun })
        if (!admitted)
          await (waitTurn?.({ ms: 20_000, reason: 'It is not yet its turn.' }) ??
            pause(at.clock, 20_000, signal))
        signal.throwIfAborted()
        return answer
      },
    }
    return { provider, calls }
  }

  it('is waited for without a slot, and the call that comes back at its time has it', async () => {
    const at = world()
    const { provider, calls } = limited(at)
    at.daemon({ provider })
    const all = await at.ended(await at.submit())
    expect(all.at(-1)?.type).toBe('task_completed')
    expect(all.find((each) => each.type === 'task_suspended')?.data).toMatchObject({
      waits_for: 'limit',
      reason: 'It is not yet its turn.',
    })
    expect(calls.map(({ admitted }) => admitted)).toEqual([false, true])
    expect(calls[1]?.atMs).toBeGreaterThanOrEqual(20_000)
    expect(failures(all)).toEqual([])
  })

  it('is not that of another daemon, which takes a turn of its own', async () => {
    const at = world()
    const { provider, calls } = limited(at)
    const one = at.daemon({ provider })
    const log = await at.submit()
    await at.passing('it waits', async () => (await at.events(log)).at(-1)?.type === 'task_suspended')
    one.kill()
    at.daemon({ provider })
    expect((await at.ended(log)).at(-1)?.type).toBe('task_completed')
    expect(calls.map(({ admitted }) => admitted)).toEqual([false, false, true])
  })
})
