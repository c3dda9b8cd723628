// A text of a model as Markdown. It becomes elements of React, never markup: no HTML of the text survives, no
// picture is loaded, and a link leads only to http or https and shows where.
import { figurePlaces } from '@beaver/evidence/report'
import { Fragment, isValidElement, type ReactNode, useMemo } from 'react'
import ReactMarkdown, { type Components } from 'react-markdown'
import rehypeSanitize, { defaultSchema } from 'rehype-sanitize'
import remarkGfm from 'remark-gfm'
import { visible } from './visible.ts'

const schema = {
  ...defaultSchema,
  protocols: { ...defaultSchema.protocols, href: ['http', 'https'] },
  tagNames: (defaultSchema.tagNames ?? []).filter(
    (name) => !['img', 'picture', 'source', 'input'].includes(name),
  ),
}

const components: Components = {
  a({ href, children }) {
    const host = hostOf(href)
    if (host === null) return <>{children}</>
    return (
      <a href={href} target="_blank" rel="noopener noreferrer nofollow" referrerPolicy="no-referrer">
        {children} <span className="quiet small">({host})</span>
      </a>
    )
  },
  // What scrolls can be reached by keyboard.
  pre({ children }) {
    const { className = '' } = isValidElement<{ className?: string }>(children) ? children.props : {}
    return (
      <>
        {className.split(' ').includes('language-mermaid') ? (
          <p className="quiet small">
            The source of a Mermaid diagram. The console does not draw what a model wrote.
          </p>
        ) : null}
        <pre tabIndex={0}>{children}</pre>
      </>
    )
  },
  table: ({ children }) => (
    <div className="wide" tabIndex={0}>
      <table>{children}</table>
    </div>
  ),
}

function hostOf(href: string | undefined): string | null {
  try {
    const { protocol, host } = new URL(href ?? '')
    return protocol === 'https:' || protocol === 'http:' ? host : null
  } catch {
    return null
  }
}

interface Tree {
  type: string
  tagName?: string
  value?: string
  properties?: object
  children?: Tree[]
}

const hasNoFigures: ReadonlySet<string | undefined> = new Set(['a', 'code', 'pre'])

/** Makes each figure of the texts an element `data`, which no text of a model can write. */
const markFigures =
  () =>
  (tree: Tree): void => {
    if (tree.children === undefined || hasNoFigures.has(tree.tagName)) return
    tree.children = tree.children.flatMap((child) => {
      if (child.type === 'text') return parted(child.value ?? '')
      markFigures()(child)
      return [child]
    })
  }

function parted(text: string): Tree[] {
  let at = 0
  const parts = figurePlaces(text).flatMap(({ from, to }): Tree[] => {
    const before = text.slice(at, from)
    at = to
    return [
      { type: 'text', value: before },
      {
        type: 'element',
        tagName: 'data',
        properties: {},
        children: [{ type: 'text', value: text.slice(from, to) }],
      },
    ]
  })
  return [...parts, { type: 'text', value: text.slice(at) }]
}

export interface MarkdownProps {
  readonly text: string
  /** Shows a figure of the text. Default: it is text. */
  readonly figure?: (shown: string) => ReactNode
}

export function Markdown({ text, figure }: MarkdownProps): ReactNode {
  const shown = useMemo(
    (): Components =>
      figure === undefined
        ? components
        : {
            ...components,
            data: ({ children }) => (typeof children === 'string' ? figure(children) : <>{children}</>),
          },
    [figure],
  )
  return (
    <div className="markdown">
      <ReactMarkdown
        remarkPlugins={[remarkGfm]}
        rehypePlugins={[[rehypeSanitize, schema], ...(figure === undefined ? [] : [markFigures])]}
        components={shown}
        // A picture becomes its alternative text.
        disallowedElements={['img']}
        unwrapDisallowed
      >
        {visible(text)}
      </ReactMarkdown>
    </div>
  )
}

/** A text that is no Markdown, with its figures. */
export const Figures = ({ text, figure }: Required<MarkdownProps>): ReactNode =>
  parted(text).map(({ value, children }, at) => (
    <Fragment key={at}>{children === undefined ? value : figure(children[0]?.value ?? '')}</Fragment>
  ))
