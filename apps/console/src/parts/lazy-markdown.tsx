// Markdown and figures, loaded when the first text of a model is shown.
import { lazy, type ReactNode, Suspense } from 'react'
import type { MarkdownProps } from './markdown.tsx'
import { Loading } from './problem.tsx'

const Loaded = lazy(async () => ({ default: (await import('./markdown.tsx')).Markdown }))

export const Markdown = (props: MarkdownProps): ReactNode => (
  <Suspense fallback={<Loading />}>
    <Loaded {...props} />
  </Suspense>
)

const LoadedFigures = lazy(async () => ({ default: (await import('./markdown.tsx')).Figures }))

export const Figures = (props: Required<MarkdownProps>): ReactNode => (
  <Suspense fallback={props.text}>
    <LoadedFigures {...props} />
  </Suspense>
)
