// Markdown, loaded when the first text of a model is shown.
import { lazy, type ReactNode, Suspense } from 'react'
import { Loading } from './problem.tsx'

const Loaded = lazy(async () => ({ default: (await import('./markdown.tsx')).Markdown }))

export const Markdown = ({ text }: { readonly text: string }): ReactNode => (
  <Suspense fallback={<Loading />}>
    <Loaded text={text} />
  </Suspense>
)
