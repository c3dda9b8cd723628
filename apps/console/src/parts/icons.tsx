// The few drawings of the console, as SVG in the page: no font, no file.
import type { ReactNode } from 'react'

const drawings = {
  tasks: <path d="M4 6h12M4 10h12M4 14h8" />,
  inbox: <path d="M3 11l2.500-6h9L17 11v4H3zM3 11h4l1 2h4l1-2h4" />,
  sessions: <path d="M4 4h12v8H9l-3.500 3v-3H4z" />,
  start: <path d="M6 4.500v11l9-5.500z" />,
  system: <path d="M3 13h3l2-7 3.500 9 2-5H17" />,
  library: <path d="M4 4h4v12H4zM8 4h4v12H8zM13 5l3 .700-2 11" />,
  memory: <path d="M5 3h10v14l-5-4-5 4z" />,
  sun: (
    <path d="M10 6.500a3.500 3.500 0 100 7 3.500 3.500 0 000-7zM10 1.500v2m0 13v2M1.500 10h2m13 0h2M4 4l1.400 1.400m9.200 9.200L16 16M16 4l-1.400 1.400M5.400 14.600L4 16" />
  ),
  moon: <path d="M15.500 12A6.500 6.500 0 018 4.500 6 6 0 1015.500 12z" />,
  screen: <path d="M3 4h14v9H3zM7 17h6m-3-4v4" />,
  keys: <path d="M2.500 6h15v9h-15zM5.500 9h0m3 0h0m3 0h0m3 0h0M7 12.200h6" />,
  close: <path d="M5 5l10 10M15 5L5 15" />,
  copy: <path d="M7 7h9v9H7zM4 13V4h9" />,
  search: <path d="M9 3.500a5.500 5.500 0 100 11 5.500 5.500 0 000-11zm4 9.500l4 4" />,
  next: <path d="M8 5l5 5-5 5" />,
  menu: <path d="M4 6h12M4 10h12M4 14h12" />,
} satisfies Record<string, ReactNode>
export type IconName = keyof typeof drawings

/** A drawing beside a word. It says nothing that the word does not say, so readers of screens skip it. */
export const Icon = ({ name }: { readonly name: IconName }): ReactNode => (
  <svg className="icon" viewBox="0 0 20 20" aria-hidden="true">
    {drawings[name]}
  </svg>
)
