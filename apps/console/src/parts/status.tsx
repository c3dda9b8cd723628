// The state of a task, a run or a node: a word, a shape and a colour, so that no reader needs the colour.
import type { ReactNode } from 'react'

type Look = 'done' | 'partly' | 'failed' | 'over' | 'works' | 'waits' | 'person' | 'new'

const looks: Readonly<Record<string, readonly [word: string, look: Look]>> = {
  submitted: ['submitted', 'new'],
  running: ['running', 'works'],
  // Of a run.
  assembling: ['begins', 'works'],
  thinking: ['asks the model', 'works'],
  acting: ['calls tools', 'works'],
  waiting_for_approval: ['waits for you', 'person'],
  waiting_for_budget: ['waits for a budget', 'person'],
  waiting: ['waits', 'waits'],
  lost: ['lost', 'failed'],
  waiting_for_person: ['waits for you', 'person'],
  waiting_for_provider: ['waits for the provider', 'waits'],
  waiting_for_limit: ['waits for a limit', 'waits'],
  completed: ['completed', 'done'],
  kept: ['kept', 'done'],
  // Of a team.
  complete: ['completed', 'done'],
  incomplete: ['incomplete', 'partly'],
  failed: ['failed', 'failed'],
  cancelled: ['cancelled', 'over'],
  quarantined: ['quarantined', 'failed'],
  blocked: ['blocked', 'over'],
  // Of a part of the system.
  answers: ['answers', 'done'],
  asked: ['is asked', 'done'],
  has_place: ['has place', 'done'],
  silent: ['does not answer', 'failed'],
  gone: ['went away', 'over'],
  stands_still: ['stands still', 'failed'],
  circuit_open: ['is not asked', 'waits'],
  used_up: ['tasks wait', 'waits'],
  refused: ['not allowed to look', 'over'],
  broken: ['wrong', 'failed'],
  attention: ['look at it', 'waits'],
  skipped: ['skipped', 'over'],
  pending: ['pending', 'new'],
  ready: ['ready', 'new'],
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

export const lookOf = (status: string): readonly [word: string, look: Look] =>
  looks[status] ?? [status.replaceAll('_', ' '), 'new']

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
