import type { SessionSummary, TaskSummary } from '@beaver/contracts'
import { modelPrices } from '@beaver/core/cost'
import { expect, test } from 'vitest'
import { sessionsTable } from '../commands/sessions.ts'
import { tasksTable } from '../commands/tasks.ts'
import { usageTable } from '../commands/usage.ts'
import { statusWord } from './status-paint.ts'
import { styleOf } from './style.ts'

const simulatedModelName = 'beaver-simulated-1'
const used = { input_tokens: 1, output_tokens: 1, calls: 1, usage_by_model: [{ provider: 'simulated', model: simulatedModelName, input_tokens: 1, output_tokens: 1, calls: 1 }] } // prettier-ignore
const task = { task_id: 't', status: 'waiting_for_person', submitted_at: null, ended_at: null, elapsed_ms: null, agents: 1, ...used, waiting: 0, model: simulatedModelName, simulated: true, user_id: null, title: null, text: 'x', started_at: null } as unknown as TaskSummary // prettier-ignore
const session = { session_id: 's', tasks: 1, open: 1, last_at: null, last_status: 'waiting_for_person', user_id: null, title: null, text: 'x' } as unknown as SessionSummary // prettier-ignore
const screen = { columns: 200, style: styleOf(false) }

const shownTask = (of: Partial<TaskSummary>): string =>
  tasksTable([{ ...task, ...of }], screen, { now: 0 })[1] ?? ''

test('a state has one word on every screen, whether a call or a question asks and whether a daemon drives the task', () => {
  for (const status of ['waiting_for_person', 'waiting_for_approval', 'waiting_for_answer'])
    expect(statusWord(status)).toBe('asks you')
  expect(shownTask({})).toContain('asks you')
  expect(shownTask({ status: 'running', waiting: 1 })).toContain('asks you')
  expect(shownTask({ status: 'waiting_for_provider' })).toContain('waits for a provider')
  expect(sessionsTable([session], screen, 0)[1]).toContain('asks you')
  expect(statusWord('completed')).toBe('completed')
})

test('the simulated model has the name of its price in the lists of tasks and of usage', () => {
  expect(modelPrices).toHaveProperty([simulatedModelName])
  expect(shownTask({})).toContain(simulatedModelName)
  expect(usageTable({ groups: [{ key: '2026-01-01', ...used }] }, 'day', { columns: 200 })[1]).toContain(
    simulatedModelName,
  )
})
