// The state of a task, a run or a node: a word, a shape and a colour, so that no reader needs the colour.
import { statusWord } from '@beaver/core'
import type { ReactNode } from 'react'

type Look = 'done' | 'partly' | 'failed' | 'over' | 'works' | 'waits' | 'person' | 'new'

const looks: Readonly<Record<string, Look>> = {
  submitted: 'new',
  running: 'works',
  assembling: 'works',
  thinking: 'works',
  acting: 'works',
  waiting_for_approval: 'person',
  waiting_for_budget: 'person',
  waiting: 'waits',
  lost: 'failed',
  waiting_for_person: 'person',
  waiting_for_provider: 'waits',
  waiting_for_limit: 'waits',
  waiting_for_client: 'waits',
  completed: 'done',
  kept: 'done',
  complete: 'done',
  incomplete: 'partly',
  failed: 'failed',
  cancelled: 'over',
  quarantined: 'failed',
  blocked: 'over',
  answers: 'done',
  asked: 'done',
  has_place: 'done',
  silent: 'failed',
  gone: 'over',
  stands_still: 'failed',
  circuit_open: 'waits',
  used_up: 'waits',
  refused: 'over',
  broken: 'failed',
  attention: 'waits',
  skipped: 'over',
  pending: 'new',
  ready: 'new',
  waiting_for_answer: 'person',
}

/** Words for the parts of a system, which only this page has. */
const partWords: Readonly<Record<string, string>> = {
  asked: 'is asked',
  has_place: 'has place',
  silent: 'does not answer',
  gone: 'went away',
  circuit_open: 'is not asked',
  used_up: 'tasks wait',
  refused: 'not allowed to look',
  broken: 'wrong',
  attention: 'look at it',
}

const shapes: Readonly<Record<Look, ReactNode>> = {
  done: <path d="M2 6.500l2.500 2.500L10 3.500" />,
  partly: <path d="M6 1.500v9M1.500 6a4.500 4.500 0 019 0" />,
  failed: <path d="M2.500 2.500l7 7m0-7l-7 7" />,
  over: <path d="M2 6h8" />,
  works: <path d="M6 1.500A4.500 4.500 0 1110.500 6" />,
  waits: <path d="M3 2h6L6 6l3 4H3l3-4z" />,
  person: <path d="M6 1.500a2 2 0 110 4 2 2 0 010-4zM2 10.500a4 4 0 018 0z" />,
  new: <path d="M6 2a4 4 0 110 8 4 4 0 010-8z" />,
}

export const lookOf = (status: string): readonly [word: string, look: Look] => [
  partWords[status] ?? statusWord(status),
  looks[status] ?? 'new',
]

export function Status({ status }: { readonly status: string }): ReactNode {
  const [word, look] = lookOf(status)
  return (
    <span className={`status ${look}`}>
      <svg viewBox="0 0 12 12" aria-hidden="true">
        {shapes[look]}
      </svg>
      {word}
    </span>
  )
}
