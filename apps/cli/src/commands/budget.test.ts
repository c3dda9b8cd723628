import { describe, expect, it } from 'vitest'
import { budget, type BudgetOptions } from './budget.ts'

// A home in which nothing runs: what is refused here is refused before a system is looked for.
const globals = { color: false, natsUrl: 'nats://127.0.0.1:9', trust: false }
const of = (what: 'list' | 'raise', task: string | undefined, options: BudgetOptions): Promise<string> =>
  budget(what, task, options, globals).then(
    () => 'done',
    (error: Error) => error.message,
  )

describe('beaver budget refuses, in one sentence that says what to give instead', () => {
  it.each<[BudgetOptions & { readonly task?: string }, string]>([
    [{}, 'Say which budget gets more: that of a task, or with one of --user,'],
    [{ task: 't', user: 'ann', usd: '1' }, 'Name a task or --user, not both'],
    [{ user: 'ann', session: 's', usd: '1' }, 'Give one of --user and --session,'],
    [{ profile: 'p', tenant: true, usd: '1' }, 'Give one of --profile and --tenant,'],
    [
      { user: 'ann', usd: '1' },
      'Say with --per which budget of the user gets more: --per day or --per month.',
    ],
    [{ user: 'ann', per: 'day' }, 'Say what to give more: --usd,'],
    [{ user: 'ann', per: 'day', usd: '0' }, '--usd "0" is not an amount above 0.'],
    [{ user: 'ann', per: 'day', node: 'n', usd: '1' }, '--node is for the budget of a task, not for --user.'],
    [{ session: 's', wall: '10m' }, '--wall is for the budget of a task'],
    [{ task: 't', per: 'day', usd: '1' }, '--per is for the budgets that tasks share.'],
    [{ task: 't', limit: 5, usd: '1' }, '--limit is for the list of budgets'],
    [{ of: 'user', user: 'ann', usd: '1' }, '--of is for the list of budgets'],
  ])('raise %j', async ({ task, ...options }, why) => expect(await of('raise', task, options)).toContain(why))

  it.each<[BudgetOptions & { readonly task?: string }, string]>([
    [{ usd: '1' }, '--usd is for "beaver budget raise" only.'],
    [{ modelCalls: '1' }, '--model-calls is for "beaver budget raise" only.'],
    [{ task: 't' }, '"beaver show <task>" shows the budget of a task.'],
    [{ user: 'ann', tenant: true }, 'Give one of --user and --tenant,'],
    [{ of: 'session', user: 'ann' }, '--of session and --user are for budgets of two kinds.'],
    [{ of: 'task', tenant: true }, '--tenant is for the budget that its tasks share'],
    [{ of: 'profile', status: 'failed' }, '--status is for the budgets of tasks.'],
    [{ tenant: true, before: 3 }, '--before is for the budgets of tasks.'],
  ])('list %j', async ({ task, ...options }, why) => expect(await of('list', task, options)).toContain(why))
})
