// A text of a model as Markdown. It becomes elements of React, never markup: no HTML of the text survives, no
// picture is loaded, and a link leads only to http or https and shows where.
import { isValidElement, type ReactNode } from 'react'
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

export const Markdown = ({ text }: { readonly text: string }): ReactNode => (
  <div className="markdown">
    <ReactMarkdown
      remarkPlugins={[remarkGfm]}
      rehypePlugins={[[rehypeSanitize, schema]]}
      components={components}
      // A picture becomes its alternative text.
      disallowedElements={['img']}
      unwrapDisallowed
    >
      {visible(text)}
    </ReactMarkdown>
  </div>
)
