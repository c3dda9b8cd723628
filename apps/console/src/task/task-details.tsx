// The task as a whole: why it failed, its result, the evidence for it, what it used, and its record.
import type { QueryOutput } from '@beaver/contracts'
import { type ReactNode, useMemo } from 'react'
import { Json } from '../parts/json.tsx'
import { Empty } from '../parts/problem.tsx'
import { Block } from '../parts/text.tsx'
import { numberText } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { Evidence } from './evidence.tsx'
import { Record } from './record.tsx'
import { Report } from './report.tsx'
import type { TaskPageSearch } from './selection.ts'
import type { Item } from './tree.ts'
import { Usage } from './usage.tsx'
import { WhyTaskFailed } from './why-failed.tsx'

export interface TaskDetailsProps {
  readonly answer: QueryOutput<'task'>
  /** All parts of the task, because the verdict on a figure may be one on an agent. */
  readonly items: readonly Item[]
  readonly show: (change: TaskPageSearch) => void
}

export function TaskDetails({ answer, items, show }: TaskDetailsProps): ReactNode {
  const { task, final_output, unfit_output, outputs, failures, evidence = [] } = answer
  const checks = useMemo(
    () => [...(answer.evidence ?? []), ...items.flatMap(({ node }) => node?.evidence ?? [])],
    [answer.evidence, items],
  )
  return (
    <>
      <WhyTaskFailed answer={answer} items={items} show={show} />
      {final_output === null || (final_output === '' && failures.length > 0) ? null : (
        <section className="card">
          <h2>Result</h2>
          {final_output === '' ? <p className="quiet">It is empty.</p> : null}
          <Report taskId={task.task_id} text={final_output} checks={checks} show={show} />
          {answer.final_output_chars > final_output.length ? (
            <p className="quiet">
              The first {numberText(final_output.length)} characters of{' '}
              {numberText(answer.final_output_chars)}.
            </p>
          ) : null}
        </section>
      )}
      {unfit_output === undefined ? null : (
        <section className="card">
          <h2>The answer that did not fit</h2>
          <Json value={unfit_output} linesMax={40} />
        </section>
      )}
      {final_output !== null || outputs.length === 0 ? null : (
        <section className="card">
          <h2>What completed</h2>
          {outputs.map(({ node_id, output }) => (
            <div key={node_id}>
              <h3>{node_id}</h3>
              <Json value={output} linesMax={12} />
            </div>
          ))}
        </section>
      )}
      {final_output === null && failures.length === 0 && task.wait === null && outputs.length === 0 ? (
        <Empty title="There is no result yet.">Select an agent to see what it does.</Empty>
      ) : null}
      {evidence.length === 0 ? null : <Evidence checks={evidence} />}
      {answer.steers.length === 0 ? null : (
        <section className="card">
          <h2>Steered</h2>
          {answer.steers.map(({ request_id, text, by, at, given_taskseq }) => (
            <div key={request_id}>
              <Block text={text} linesMax={6} />
              <p className="quiet small">
                {by ?? 'somebody'}, <When time={at} />
                {given_taskseq === null ? ', not read yet' : ''}
              </p>
            </div>
          ))}
        </section>
      )}
      <section className="card">
        <h2>Used</h2>
        <Usage of={task} />
      </section>
      <Record answer={answer} />
    </>
  )
}
