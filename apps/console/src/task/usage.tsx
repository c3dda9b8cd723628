// What a task or a run used: tokens, calls and cost, split as providers reported them. What is not known is said,
// and is never 0.
import type { QueryOutput } from '@beaver/contracts'
import type { ReactNode } from 'react'
import { Cost } from '../parts/cost.tsx'
import { numberText } from '../parts/time.ts'

type Used = Pick<
  QueryOutput<'task'>['task'],
  | 'input_tokens'
  | 'output_tokens'
  | 'calls'
  | 'cached_input_tokens'
  | 'reasoning_tokens'
  | 'unknown_calls'
  | 'estimated_calls'
  | 'cost_usd'
  | 'cost_usd_known'
  | 'usage_by_model'
>

export function Usage({ of }: { readonly of: Used }): ReactNode {
  const rows: readonly (readonly [string, ReactNode])[] = [
    ['Cost', <Cost key="cost" of={of} />],
    ['Calls of models', numberText(of.calls)],
    ['Input', `${numberText(of.input_tokens)} tokens`],
    [
      'of it cached',
      of.cached_input_tokens === undefined ? null : `${numberText(of.cached_input_tokens)} tokens`,
    ],
    ['Output', `${numberText(of.output_tokens)} tokens`],
    [
      'of it reasoning',
      of.reasoning_tokens === undefined ? null : `${numberText(of.reasoning_tokens)} tokens`,
    ],
    [
      'Not known',
      of.unknown_calls === undefined ? null : `the tokens of ${numberText(of.unknown_calls)} calls`,
    ],
    [
      'Estimated',
      of.estimated_calls === undefined ? null : `the tokens of ${numberText(of.estimated_calls)} calls`,
    ],
  ]
  return (
    <dl>
      {rows.map(([name, value]) =>
        value === null ? null : (
          <div key={name} className="pair">
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
      {of.usage_by_model.length < 2
        ? null
        : of.usage_by_model.map((model) => (
            <div key={`${model.provider} ${model.model}`} className="pair">
              <dt>{model.model ?? 'a model'}</dt>
              <dd>
                <Cost of={model} />, {numberText(model.calls)} calls,{' '}
                {numberText(model.input_tokens + model.output_tokens)} tokens
              </dd>
            </div>
          ))}
    </dl>
  )
}
