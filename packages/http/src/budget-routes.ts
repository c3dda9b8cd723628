// The routes of the budgets that tasks share. A token that reaches only the tasks of its user reads only the
// budgets of this user.
import { requestContracts, type RequestRead } from '@beaver/contracts'
import { doneFor, reachOf, userOf } from './access.ts'
import { idempotencyKey, keyedId, mustBeOwnId } from './idempotency.ts'
import { fieldsOf, json, type Route, route } from './route.ts'

type Asked<Name extends 'budget.list' | 'budget.raise'> = Omit<RequestRead<Name>, 'user_id'>

const listing = route(
  {
    tag: 'system',
    role: 'read',
    method: 'get',
    at: '/api/v1/budgets',
    name: 'listBudgets',
    says: requestContracts['budget.list'].says,
    answer: { status: 200, says: 'The budgets.', schema: requestContracts['budget.list'].output },
  },
  { query: fieldsOf(requestContracts['budget.list'].input, ['user_id']) },
  async ({ query, host, caller }) => {
    const { of, name, limit } = query as Asked<'budget.list'>
    if (reachOf(caller) === undefined) return json(await host.client().budgets({ of, name, limit }))
    if (of !== undefined && of !== 'user') return json({ budgets: [], total: 0, more: false })
    return json(await host.client().budgets({ of: 'user', name: userOf(caller, name), limit }))
  },
)

const raising = route(
  {
    tag: 'system',
    role: 'admin',
    method: 'post',
    at: '/api/v1/budgets/raise',
    name: 'raiseSharedBudget',
    says: requestContracts['budget.raise'].says,
    answer: {
      status: 202,
      says: 'The account of the budget has it, and the tasks that waited were told.',
      schema: requestContracts['budget.raise'].output,
    },
  },
  { headers: idempotencyKey, body: fieldsOf(requestContracts['budget.raise'].input, ['user_id']) },
  async ({ headers, body, host, caller }) => {
    const { of, name, per, more, reason, request_id } = body as Asked<'budget.raise'>
    const key = headers['idempotency-key']
    mustBeOwnId(request_id, 'body.request_id')
    const { userId } = caller
    const requestId = request_id ?? (key === undefined ? undefined : keyedId({ caller, userId }, 'key', key))
    return json(
      await host
        .client()
        .raiseShared({ of, name, per }, more, { reason, requestId, userId: doneFor(caller) }),
      {
        status: 202,
      },
    )
  },
)

export const budgetRoutes: readonly Route[] = [listing, raising]
