// The verdict on each requirement of a task or a node, with a link to each event on which it rests.
import type { ReactNode } from 'react'
import { EventLink } from './event-link.tsx'
import type { Node } from './tree.ts'

const verdicts: Readonly<Record<string, readonly [word: string, look: string]>> = {
  passed: ['passed', 'done'],
  failed: ['failed', 'failed'],
  not_checked: ['not checked', 'over'],
}

export function Evidence({ checks }: { readonly checks: Node['evidence'] }): ReactNode {
  return (
    <section className="card">
      <h2>Evidence</h2>
      <ul className="evidence">
        {checks.map(({ requirement, status, detail, rests_on }, index) => {
          const [word, look] = verdicts[status] ?? [status, 'new']
          return (
            <li key={index}>
              <span className={`status ${look}`}>{word}</span>
              <div>
                <p>{typeof requirement === 'string' ? requirement : detail}</p>
                {typeof requirement === 'string' ? <p className="quiet small">{detail}</p> : null}
                {rests_on.length === 0 ? null : (
                  <p className="quiet small">
                    It rests on{' '}
                    {rests_on.slice(0, 12).map((taskseq) => (
                      <EventLink key={taskseq} taskseq={taskseq} />
                    ))}
                  </p>
                )}
              </div>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
