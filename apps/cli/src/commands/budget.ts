// `beaver budget raise`: gives more to a budget of a task or of one of its nodes. When the command ends, the
// journal has the request.
import { type BudgetLimits, budgetMeasures, amountText } from '@beaver/core/budget'
import { connect } from '../connection.ts'
import { contextOf, type GlobalOptions } from '../context.ts'
import { UsageError } from '../failures.ts'
import { findSystem } from '../system/find-system.ts'
import { findTask } from './find-task.ts'
import { amountOf, measureOptions } from './read-budget.ts'

/** The amounts are texts, so that a wrong one is named as it was typed. */
export interface RaiseOptions {
  readonly usd?: string
  readonly tokens?: string
  readonly modelCalls?: string
  readonly toolCalls?: string
  readonly wall?: string
  readonly node?: string
  readonly reason?: string
  readonly requestId?: string
  readonly json?: true
}

export async function raiseBudget(
  typed: string,
  options: RaiseOptions,
  globals: GlobalOptions,
): Promise<number> {
  const more = moreOf(options)
  const { node: nodeId, reason, requestId } = options
  const { config, screen } = contextOf(globals)
  await using connection = await connect(findSystem(config))
  const { taskId } = await findTask(connection, typed)
  const raised = await connection.client.raise(taskId, more, { nodeId, reason, requestId })
  if (options.json === true) screen.json(raised)
  else {
    const whose = nodeId === undefined ? taskId : `the node ${nodeId} of ${taskId}`
    screen.print(`Raised: ${whose} may use ${moreText(more)} more.`)
  }
  return 0
}

/** @throws {UsageError} */
function moreOf(options: RaiseOptions): BudgetLimits {
  const { usd, tokens, modelCalls: model_calls, toolCalls: tool_calls, wall: wall_ms } = options
  const given = { usd, tokens, model_calls, tool_calls, wall_ms }
  const more: Record<string, number> = {}
  for (const measure of budgetMeasures) {
    const text = given[measure]
    if (text === undefined) continue
    const amount = amountOf(measure, text)
    if (amount === null || amount === 0)
      throw new UsageError(`${measureOptions[measure]} ${JSON.stringify(text)} is not an amount above 0.`)
    more[measure] = amount
  }
  if (Object.keys(more).length === 0)
    throw new UsageError(
      `Say what to give more: ${Object.values(measureOptions).join(', ')}. Such as: beaver budget raise <task> --usd 5`,
    )
  return more
}

const moreText = (more: BudgetLimits): string =>
  budgetMeasures
    .flatMap((measure) => {
      const amount = more[measure]
      return amount === undefined ? [] : [amountText(measure, amount)]
    })
    .join(' and ')
