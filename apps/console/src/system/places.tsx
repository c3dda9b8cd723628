// Where one can go within the pages of the system.
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'

const places = [
  ['/system/usage', 'Usage'],
  ['/system/failures', 'Failures'],
] as const

export const SystemPlaces = (): ReactNode => (
  <nav className="places" aria-label="System">
    {places.map(([to, name]) => (
      <Link key={to} to={to} search={{}} activeOptions={{ includeSearch: false }}>
        {name}
      </Link>
    ))}
  </nav>
)
