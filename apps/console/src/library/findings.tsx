// What is wrong with the files of skills, tools, workflows and profiles.
import type { LoadedAnswer } from '@beaver/contracts'
import type { ReactNode } from 'react'
import { visible } from '../parts/visible.ts'

/** What is wrong with files, and where. */
export function Findings({ findings }: { readonly findings: LoadedAnswer['findings'] }): ReactNode {
  return (
    <section className="card waits" aria-label="Findings">
      <h2>{findings.length === 1 ? 'A finding' : `${findings.length} findings`}</h2>
      <ul className="findings">
        {findings.map(({ file, severity, message }) => (
          <li key={`${file} ${message}`}>
            <p className={severity === 'error' ? 'why failed' : 'why waits'}>
              {severity === 'error' ? 'Not used' : 'Warning'}: {visible(message)}
            </p>
            <p className="quiet small path">{visible(file)}</p>
          </li>
        ))}
      </ul>
    </section>
  )
}
