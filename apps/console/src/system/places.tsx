// The three pages about the system as a whole.
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import './system.css'

const places: readonly (readonly [path: string, name: string])[] = [
  ['/system', 'Now'],
  ['/system/usage', 'Usage'],
  ['/system/failures', 'Failures'],
]

export const SystemPlaces = (): ReactNode => (
  <nav aria-label="System" className="buttons places">
    {places.map(([to, name]) => (
      <Link key={to} to={to} search={{}} activeOptions={{ exact: true, includeSearch: false }}>
        {name}
      </Link>
    ))}
  </nav>
)
