import { event } from '@beaver/core'
import { evolveTaskView, newTaskView } from '@beaver/core/task-view'
import { until } from '@beaver/testing'
import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import * as log from '../../test/task-events.ts'
import { type ApprovalQuestions, askApprovals } from './ask-approvals.ts'

interface Scene extends AsyncDisposable {
  readonly input: PassThrough
  readonly decisions: [string, boolean][]
  /** What was given: the node and the amounts. `cancel`: the task was cancelled. */
  readonly given: unknown[]
  readonly notices: string[]
  readonly screen: () => string
  /** Adds events to the journal. */
  happen(...events: Parameters<typeof log.recorded>[0]): void
  /** Resolves when the question was on the screen this many times. */
  asked(times: number): Promise<unknown>
}

const begun = [log.submitted(), log.runStarted('run_root', 'root'), log.told('run_root')]
const asks = (name: string, subject = name) =>
  event(
    'approval_requested',
    { call_id: `run_root.${name}`, tool_name: name, subject, rule: null },
    'run_root',
  )
const grants = (name: string) =>
  event('approval_granted', { call_id: `run_root.${name}`, by: 'anna' }, 'run_root')

function scene(
  decide: (callId: string) => Promise<void> = () => Promise.resolve(),
  give: () => Promise<void> = () => Promise.resolve(),
): Scene {
  const input = new PassThrough()
  const view = newTaskView()
  const decisions: [string, boolean][] = []
  const given: unknown[] = []
  const notices: string[] = []
  let written = ''
  const questions: ApprovalQuestions = askApprovals({
    view,
    terminal: {
      input,
      write: (text) => void (written += text),
      pause: () => ((written += '<paused>'), () => void (written += '<resumed>')),
    },
    decide: ({ callId }, approved) => (decisions.push([callId, approved]), decide(callId)),
    answer: () => Promise.reject(new Error('No answer was expected.')),
    give: ({ nodeId = null, shared }, more) => (given.push({ nodeId, shared, more }), give()),
    cancel: () => (given.push('cancel'), Promise.resolve()),
    tell: (notice) => void notices.push(notice),
  })
  const happen: Scene['happen'] = (...events) => {
    for (const each of log.recorded(events)) {
      evolveTaskView(view, each)
      questions.onEvent(each)
    }
  }
  happen(...begun)
  return {
    input,
    decisions,
    given,
    notices,
    screen: () => written,
    happen,
    asked: (times) =>
      until(`question ${times}`, () => written.split(/\[y\/N\]|empty: wait\)/).length > times),
    [Symbol.asyncDispose]: () => questions[Symbol.asyncDispose](),
  }
}

describe('a call that asks because of what its run has read', () => {
  test('is shown with the reason, which cannot move the cursor', async () => {
    await using at = scene()
    const because = {
      reason:
        'this run has read web_fetch https://a.example/\u001B[2J (untrusted), and memory writes what later runs read',
    }
    at.happen(
      log.calls('run_root', 'memory'),
      event(
        'approval_requested',
        { call_id: 'run_root.memory', tool_name: 'memory', subject: 'a', rule: null, ...because },
        'run_root',
      ),
    )
    await at.asked(1)
    expect(at.screen()).toContain('Why: this run has read web_fetch https://a.example/')
    expect(at.screen()).not.toContain('\u001B[2J')
  })
})

describe('a person at the terminal', () => {
  test.each([
    ['y', true],
    ['YES', true],
    ['', false],
    ['yeah', false],
    ['n', false],
  ])('answers %j', async (typed, approved) => {
    await using at = scene()
    at.happen(log.calls('run_root', 'rm'), asks('rm', 'rm -rf build'))
    await at.asked(1)
    expect(at.screen()).toBe('<paused>root asks to call rm:\n  rm -rf build\nAllow it? [y/N] ')
    at.input.write(`${typed}\n`)
    await until('it is decided', () => at.screen().endsWith('<resumed>'))
    expect(at.decisions).toEqual([['run_root.rm', approved]])
  })

  test('is asked one call after the other, and each once', async () => {
    await using at = scene()
    at.happen(log.calls('run_root', 'a', 'b'), asks('a'), asks('b'))
    await at.asked(1)
    at.input.write('y\nn\n')
    await at.asked(2)
    expect(at.decisions).toEqual([['run_root.a', true]])
    at.input.write('n\n')
    await until('both are decided', () => at.decisions.length === 2)
    expect(at.decisions[1]).toEqual(['run_root.b', false])
  })

  test('has not answered with what was typed before the question', async () => {
    await using at = scene()
    at.input.write('y\n')
    at.happen(log.calls('run_root', 'rm'), asks('rm'))
    await at.asked(1)
    at.input.write('n\n')
    await until('it is decided', () => at.decisions.length === 1)
    expect(at.decisions).toEqual([['run_root.rm', false]])
  })

  test('is not asked what somebody else has decided, before or while the question stands', async () => {
    await using at = scene()
    at.happen(log.calls('run_root', 'a', 'b'), asks('a'), grants('a'), asks('b'))
    await at.asked(1)
    expect(at.screen()).toContain('call b')
    at.happen(grants('b'))
    await until('the question is taken back', () => at.screen().endsWith('<resumed>'))
    expect(at.screen()).toContain('Somebody else has decided it.')
    expect(at.decisions).toEqual([])
  })

  test('who has gone is not asked again, and nothing is decided', async () => {
    await using at = scene()
    at.happen(log.calls('run_root', 'a', 'b'), asks('a'))
    await at.asked(1)
    at.input.end()
    await until('the question is over', () => at.screen().endsWith('<resumed>'))
    at.happen(asks('b'))
    expect(at.decisions).toEqual([])
    expect(at.screen().split('[y/N]')).toHaveLength(2)
  })

  test('sees the whole of what is asked, on lines of its own, and nothing of it moves the cursor', async () => {
    await using at = scene()
    at.happen(log.calls('run_root', 'sh'), asks('sh', 'ls\n\u001B[2Jrm -rf ~'))
    await at.asked(1)
    expect(at.screen()).toContain('root asks to call sh:\n  ls\n  rm -rf ~\nAllow it?')
  })

  test('is told when the decision could not be made', async () => {
    await using at = scene(() => Promise.reject(new Error('The call has been decided already.')))
    at.happen(log.calls('run_root', 'rm'), asks('rm'))
    await at.asked(1)
    at.input.write('y\n')
    await until('the trouble is told', () => at.notices.length > 0)
    expect(at.notices).toEqual(['The call has been decided already.'])
  })
})

describe('a task that waits for more in a budget', () => {
  const exceeded = (over: object = {}, node = 'root') =>
    event(
      'budget_exceeded',
      {
        ...{ budget: { of: 'task', per: 'run' }, measure: 'usd', limit: 1, used: 0.9, needed: 0.2 },
        ...{ spent_by: [{ agent_name: node, node_id: null, used: 0.9 }], wait_ms: 60_000, ...over },
      },
      'run_root',
    )
  const raised = (usd: number) =>
    event('budget_raised', { budget: { of: 'task', per: 'run' }, more: { usd }, by: 'anna', request_id: 'r' })
  const answered = (at: Scene) => until('it is answered', () => at.screen().endsWith('<resumed>'))

  test('asks how much more, with the reason, and takes an amount of the measure', async () => {
    await using at = scene()
    at.happen(exceeded())
    await at.asked(1)
    expect(at.screen()).toBe(
      [
        '<paused>The task waits: the budget of the task has no place for the next call (used 0.90 of 1.00 USD, needed up to 0.20 USD).',
        'Most was used by root (0.90 USD).',
        'Give how much more? (such as 0.20 USD or 1.00 USD, or "cancel"; empty: wait) ',
      ].join('\n'),
    )
    at.input.write('0.50\n')
    await answered(at)
    expect(at.given).toEqual([{ nodeId: null, shared: false, more: { usd: 0.5 } }])
  })

  test.each([
    ['cancel', ['cancel']],
    [' Cancel ', ['cancel']],
    ['', []],
  ])('is cancelled or left as it is by %j', async (typed, given) => {
    await using at = scene()
    at.happen(exceeded())
    await at.asked(1)
    at.input.write(`${typed}\n`)
    await answered(at)
    expect(at.given).toEqual(given)
  })

  test('asks again after a text that is no amount, and after a raise that is not enough', async () => {
    await using at = scene()
    at.happen(exceeded())
    await at.asked(1)
    at.input.write('a lot\n')
    await at.asked(2)
    expect(at.screen()).toContain('"a lot" is no amount to give.')
    at.input.write('0.05\n')
    await answered(at)
    at.happen(raised(0.05))
    await at.asked(3)
    expect(at.screen().split('<paused>').at(-1)).toContain('used 0.90 of 1.05 USD')
    at.happen(raised(1))
    await answered(at)
    expect(at.screen()).toContain('Somebody else has decided it.')
    expect(at.given).toHaveLength(1)
  })

  test('names the node whose budget it is and one that tasks share, and shows why it may not give', async () => {
    await using at = scene(undefined, () => Promise.reject(new Error('Only an operator may.')))
    at.happen(exceeded({ budget: { of: 'node', name: 'write', per: 'run' }, measure: 'tool_calls' }))
    await at.asked(1)
    at.input.write('3\n')
    await answered(at)
    at.happen(exceeded({ budget: { of: 'user', name: 'ann', per: 'day' } }))
    await at.asked(2)
    at.input.write('3 USD\n')
    await until('both are answered', () => at.given.length === 2)
    expect(at.given).toEqual([
      { nodeId: 'write', shared: false, more: { tool_calls: 3 } },
      { nodeId: null, shared: true, more: { usd: 3 } },
    ])
    expect(at.screen()).toContain('Only an operator may.')
  })
})
