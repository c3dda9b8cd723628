// A supervisor at work over children settled by hand and a clock whose pauses end at once.
import { describe, expect, it } from 'vitest'
import type { Clock } from '../ports/clock.ts'
import { type Logger, type LogLine, loggerOver } from '../ports/logger.ts'
import { BeaverError } from '../errors.ts'
import { type RunningChild, Supervision, type SupervisionStatus } from './supervision.ts'
import type { SupervisorSpec } from './supervisor-spec.ts'
import { supervisors } from './supervisors.ts'

interface Part extends RunningChild {
  readonly n: number
  die(reason: string): void
}

function stage(spec: SupervisorSpec, how: (n: number) => 'ok' | 'refuse' | 'crash' = () => 'ok') {
  let now = 0
  const clock: Clock = {
    now: () => now,
    after: (ms, act) => {
      now += ms
      const timer = setImmediate(act)
      return { cancel: () => clearImmediate(timer) }
    },
  }
  const parts: Part[] = []
  const lines: LogLine[] = []
  const statuses: (SupervisionStatus<Part> & { readonly starts: number })[] = []
  const order: string[] = []
  const supervision = new Supervision<Part>({
    spec,
    clock,
    logger: loggerOver((line) => lines.push(line)),
    onStatus: (status) => statuses.push({ ...status, starts }),
  })
  let starts = 0
  const add = (id = 'projector') =>
    supervision.add(id, async () => {
      const n = ++starts
      if (how(n) === 'refuse') throw new BeaverError('start_failed', 'no port')
      const { promise: gone, resolve } = Promise.withResolvers<{ reason: string }>()
      const die = (reason: string): void => resolve({ reason })
      const part: Part = {
        n,
        gone,
        die,
        stop: async () => {
          order.push(id)
          die('exit code 0')
        },
        kill: () => die('killed'),
      }
      parts.push(part)
      if (how(n) === 'crash') die('exit code 1')
      return part
    })
  return {
    supervision,
    add,
    parts,
    lines,
    statuses,
    order,
    starts: () => starts,
    pass: (ms: number) => (now += ms),
  }
}

/** Until a pause that is under way is over, and what follows it has been done. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}
const { services } = supervisors

describe('a supervised child', () => {
  it('is started again when it ends, with one line for its death and one when it runs', async () => {
    const { supervision, add, parts, lines, statuses } = stage(services)
    expect((await add()).n).toBe(1)
    parts[0]?.die('exit code 1')
    await settled()
    expect(supervision.get('projector')?.n).toBe(2)
    expect(statuses.map(({ kind }) => kind)).toEqual(['ready', 'died', 'ready'])
    expect(lines.map(({ level, event, fields }) => [level, event, fields['child']])).toEqual([
      ['info', 'child_started', 'projector'],
      ['warn', 'child_restarting', 'projector'],
      ['info', 'child_restarted', 'projector'],
    ])
  })

  it('whose first start must succeed and fails is told, not retried, and leaves the supervisor as it was', async () => {
    const { supervision, add, starts } = stage(services, () => 'refuse')
    await expect(add()).rejects.toThrow('no port')
    await settled()
    expect(starts()).toBe(1)
    await supervision.stop()
  })

  it('whose first start may fail is tried again', async () => {
    const { add } = stage(supervisors.mcp_program, (n) => (n < 3 ? 'refuse' : 'ok'))
    expect((await add()).n).toBe(3)
  })

  it('is not started again after a stop, which resolves when it is gone', async () => {
    const { supervision, add, parts, starts } = stage(services)
    await add()
    await supervision.stop()
    await settled()
    expect([starts(), await parts[0]?.gone]).toEqual([1, { reason: 'exit code 0' }])
    await expect(add('late')).rejects.toThrow('its supervisor stops')
  })

  it('that is starting when everything stops is ended, and whoever waits for it is told', async () => {
    const { promise: asked, resolve } = Promise.withResolvers<AbortSignal>()
    const supervision = new Supervision({ spec: services })
    const first = supervision.add('slow', async (signal) => {
      resolve(signal)
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true }),
      )
    })
    await asked
    await supervision.stop()
    await expect(first).rejects.toThrow('interrupted')
  })
})

it('stops the children in the reverse order of their start', async () => {
  const { supervision, add, order } = stage(services)
  for (const id of ['nats-server', 'projector', 'daemon']) await add(id)
  await supervision.stop()
  expect(order).toEqual(['daemon', 'projector', 'nats-server'])
})

describe('a crash loop', () => {
  const run = Object.values(supervisors).filter((row) => 'firstStart' in row)

  it.each(run.map((spec) => [spec.id, spec] as const))(
    'trips the supervisor %s after the restarts of its data, with one line',
    async (_, spec: SupervisorSpec) => {
      const { supervision, add, starts, lines, statuses } = stage(spec, () => 'crash')
      void add().catch(() => {})
      while (!statuses.some(({ kind }) => kind === 'escalated')) await settled()
      const until = statuses.find(({ kind }) => kind === 'escalated')?.starts ?? 0
      expect(until).toBe(spec.intensity.restartsMax + 1)
      expect(lines.filter(({ event }) => event === 'supervisor_escalated').slice(0, 1)).toMatchObject([
        {
          level: 'error',
          fields: { supervisor: spec.id, deaths: until, reason: 'exit code 1' },
          message: expect.stringContaining(spec.escalation.says) as string,
        },
      ])
      if (spec.escalation.kind === 'fail')
        await expect(supervision.failed).rejects.toThrow(/ended \d+ times within 60 s \(last: exit code 1\)/)
      if (spec.escalation.kind !== 'wait') {
        await settled()
        expect(starts()).toBe(until)
      }
      await supervision.stop()
    },
  )

  it('takes the other children with it where the supervisor fails', async () => {
    const { supervision, add, parts, order } = stage(services)
    await add('nats-server')
    await add('projector')
    for (let death = 0; death < 6; death++) {
      parts.at(-1)?.die('killed by SIGKILL')
      await settled()
    }
    await expect(supervision.failed).rejects.toThrow(
      'The projector ended 6 times within 60 s (last: killed by SIGKILL): "beaver up" stops everything',
    )
    expect(order).toEqual(['nats-server'])
  })
})

it.each(['onStatus', 'the logger'])('restarts and stops its children also if %s throws', async (who) => {
  const fail = (): never => {
    throw new Error('The disk is full.')
  }
  const logger: Logger = { debug: fail, info: fail, warn: fail, error: fail, with: () => logger }
  const ends: ((end: { reason: string }) => void)[] = []
  const supervision = new Supervision<RunningChild>({
    spec: supervisors.services,
    ...(who === 'onStatus' ? { onStatus: fail } : { logger }),
  })
  const start = async (): Promise<RunningChild> => {
    const { promise: gone, resolve } = Promise.withResolvers<{ reason: string }>()
    ends.push(resolve)
    return { gone, stop: async () => resolve({ reason: 'stopped' }) }
  }
  await supervision.add('part', start)
  ends[0]?.({ reason: 'killed' })
  await expect.poll(() => supervision.get('part') !== null && ends.length).toBe(2)
  await supervision.stop()
})
