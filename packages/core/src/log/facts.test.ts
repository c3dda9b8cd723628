// Each fact of the log is one line, with the ids by which it can be searched.
import { expect, it } from 'vitest'
import { type LogLine, loggerOver } from '../ports/logger.ts'
import { BeaverError } from '../errors.ts'
import { sessionId, taskId } from '../ids.ts'
import { guarded, processFacts, supervisionFacts, systemFacts, taskFacts, threadFacts } from './facts.ts'

const log = { tenant: 'local', session: sessionId.parse('s'), task: taskId.parse('t') }
const ids = { tenant: 'local', session_id: 's', task_id: 't' }
const result = {
  final_output: '',
  outputs: [],
  usage: { input_tokens: 2, output_tokens: 3, calls: 1 },
  provider: 'simulated',
  model: 'm',
  simulated: true,
}

function linesOf(act: (logger: ReturnType<typeof loggerOver>) => void, level?: 'info'): LogLine[] {
  const lines: LogLine[] = []
  act(loggerOver((line) => lines.push(line), level))
  return lines
}

it('reports a failed task with its class and its message, in one line', () => {
  const failure = { class: 'provider_refused', message: 'The key is refused.' } as const
  expect(
    linesOf((logger) => taskFacts.ended(logger, log, { type: 'task_failed', data: { ...result, failure } })),
  ).toEqual([
    {
      level: 'warn',
      event: 'task_ended',
      message: 'The task is failed: The key is refused.',
      fields: {
        ...ids,
        status: 'failed',
        failure_class: 'provider_refused',
        failure_message: failure.message,
        provider: 'simulated',
        model: 'm',
        tokens: 5,
      },
    },
  ])
})

it('reports a completed task at a level below a warning', () => {
  expect(
    linesOf((logger) =>
      taskFacts.ended(logger, log, { type: 'task_completed', data: { ...result, failure: null } }),
    ),
  ).toMatchObject([
    { level: 'info', message: 'The task is completed.', fields: { ...ids, status: 'completed' } },
  ])
})

it('distinguishes a takeover from a first claim', () => {
  const claims = linesOf((logger) => {
    taskFacts.claimed(logger, log, { daemon: 'b', epoch: 1, from: null })
    taskFacts.claimed(logger, log, { daemon: 'b', epoch: 2, from: 'a' })
  })
  expect(claims).toMatchObject([
    { level: 'info', event: 'task_claimed', fields: { epoch: 1 } },
    { level: 'warn', event: 'task_taken_over', fields: { from: 'a', daemon: 'b' } },
  ])
})

it('reports a lost thread with its suspects and some of the charged runs, and as an error if the thread does not end', () => {
  const charged = Array.from({ length: 7 }, (_, i) => ({ task: 't', run: `r${i}` }))
  const loss = { thread: 3, reason: 'The worker thread was lost: x', suspects: ['grep'], charged, runs: 9 }
  const fields = {
    thread: 3,
    suspect_tools: ['grep'],
    charged: 7,
    charged_runs: ['t/r0', 't/r1', 't/r2', 't/r3', 't/r4'],
    runs: 9,
  }
  const lines = linesOf((logger) =>
    [false, true].forEach((stuck) => threadFacts.lost(logger, { ...loss, stuck })),
  )
  expect(lines).toEqual([
    {
      level: 'warn',
      event: 'thread_lost',
      message: 'The worker thread was lost: x. Its runs start again from the journal.',
      fields,
    },
    {
      level: 'error',
      event: 'thread_lost',
      message: 'The worker thread was lost: x; the thread does not end.',
      fields,
    },
  ])
})

it('reports the end of a watchdog with the name of its process', () => {
  expect(
    linesOf((logger) =>
      processFacts.watchdogEnded(logger, { name: 'daemon', error: new Error('no memory') }),
    ),
  ).toMatchObject([
    {
      level: 'warn',
      event: 'process_unwatched',
      message: 'The watchdog of the daemon ended: no memory',
      fields: { process: 'daemon' },
    },
  ])
})

it('writes no line below its level', () =>
  expect(linesOf((logger) => taskFacts.accepted(logger, log), 'info')).toEqual([]))

it('says how long a connection was down', () => {
  expect(
    linesOf((logger) => systemFacts.connectionUp(logger, { server: '127.0.0.1:4222', downMs: 6_140 })),
  ).toMatchObject([{ message: 'The connection to NATS is back after 6.1 s.', fields: { down_ms: 6_140 } }])
})

it('names the child, its supervisor and what happens next when a supervisor gives up', () => {
  const fields = {
    supervisor: 'services',
    child: 'projector',
    reason: 'exit code 1',
    deaths: 6,
    escalation: '"beaver up" stops',
  }
  expect(linesOf((logger) => supervisionFacts.escalated(logger, fields))).toMatchObject([
    {
      level: 'error',
      event: 'supervisor_escalated',
      message: 'projector ended 6 times, which is too often (last: exit code 1): "beaver up" stops.',
      fields: { supervisor: 'services', child: 'projector', deaths: 6 },
    },
  ])
})

it('turns an error and a rejection of a callback into one line each, and passes neither on', async () => {
  const lines: LogLine[] = []
  const logger = loggerOver((line) => lines.push(line))
  const later = Promise.reject(new Error('later'))
  guarded(logger, 'live output', () => JSON.parse('{'))()
  guarded(logger, 'live output', () => later)()
  await Promise.allSettled([later])
  await Promise.resolve()
  expect(lines.map(({ event, fields }) => [event, fields['where']])).toEqual([
    ['callback_failed', 'live output'],
    ['callback_failed', 'live output'],
  ])
})

it('does not disturb its caller if a line cannot be written', () => {
  const logger = loggerOver(() => {
    throw new Error('disk full')
  })
  expect(() => logger.with({ daemon: 'd' }).error('x', 'y')).not.toThrow()
})

it('a process that does not start has a stack in the log only if that is a defect', () => {
  const fieldsOf = (error: Error) =>
    linesOf((logger) => processFacts.notStarted(logger, { name: 'daemon', error }))[0]?.fields
  expect(fieldsOf(new BeaverError('unreachable', 'No NATS server answers.'))).toEqual({ process: 'daemon' })
  for (const defect of [new BeaverError('internal', 'x'), new TypeError('x')])
    expect(fieldsOf(defect)).toEqual({ process: 'daemon', stack: defect.stack })
})
