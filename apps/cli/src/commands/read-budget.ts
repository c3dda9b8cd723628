// Reads a budget that a person types: `0.50` means USD, `usd=0.50,tokens=200000,wall=10m` names the measures.
import type { BudgetLimits, BudgetMeasure } from '@beaver/core/budget'
import { UsageError } from '../failures.ts'

/** The option of `beaver budget raise` for each measure. */
export const measureOptions: Readonly<Record<BudgetMeasure, string>> = {
  usd: '--usd',
  tokens: '--tokens',
  model_calls: '--model-calls',
  tool_calls: '--tool-calls',
  wall_ms: '--wall',
}

/** The names of the measures in a budget that is typed. */
const names: Readonly<Record<string, BudgetMeasure>> = {
  usd: 'usd',
  tokens: 'tokens',
  model_calls: 'model_calls',
  tool_calls: 'tool_calls',
  wall: 'wall_ms',
}

const unitMs = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const

/**
 * Reads the option `--budget`.
 *
 * @throws {UsageError}
 */
export function readBudget(text: string): BudgetLimits {
  const limits: Record<string, number> = {}
  const parts = text.split(',').map((part) => part.trim())
  for (const part of parts) {
    const [name = '', value = '', ...rest] =
      parts.length === 1 && !part.includes('=') ? ['usd', part] : part.split('=').map((each) => each.trim())
    const measure = Object.hasOwn(names, name) ? names[name] : undefined
    if (measure === undefined || rest.length > 0)
      throw wrong(text, `${JSON.stringify(part)} names no measure: ${Object.keys(names).join(', ')}`)
    if (limits[measure] !== undefined) throw wrong(text, `${name} is there twice`)
    const amount = amountOf(measure, value)
    if (amount === null) throw wrong(text, `${JSON.stringify(value)} is no amount of ${name}`)
    limits[measure] = amount
  }
  return limits
}

/** Reads an amount of one measure. `null`: it is none. */
export function amountOf(measure: BudgetMeasure, text: string): number | null {
  if (measure === 'usd') return /^\d{1,9}(\.\d{1,6})?$|^\.\d{1,6}$/.test(text) ? Number(text) : null
  if (measure !== 'wall_ms') return /^\d{1,15}$/.test(text) ? Number(text) : null
  const [, count, unit] = /^(\d{1,9})(ms|s|m|h)$/.exec(text) ?? []
  return count === undefined ? null : Number(count) * unitMs[unit as keyof typeof unitMs]
}

const wrong = (text: string, why: string): UsageError =>
  new UsageError(
    `--budget ${JSON.stringify(text)} is not a budget: ${why}. Write an amount of USD such as "0.50", or "usd=0.50,tokens=200000,model_calls=20,tool_calls=50,wall=10m".`,
  )
