// The session of this browser: the token in localStorage, and who it is. A cookie would be sent to every port
// of this machine; a header is sent only where this code sends it. The theme is kept here too, because it is
// the only other thing that outlives the page.

/** Who uses the page, as the API says it. Times are RFC 3339. */
export interface Me {
  readonly name: string
  readonly roles: readonly ('read' | 'submit' | 'approve' | 'admin')[]
  readonly user_id: string | null
  readonly expires_at: string | null
}

const tokenKey = 'token'
const themeKey = 'theme'

export const token = {
  read: (): string | null => localStorage.getItem(tokenKey),
  keep: (value: string): void => localStorage.setItem(tokenKey, value),
  drop: (): void => localStorage.removeItem(tokenKey),
}

/** Whether a token of these roles may use what needs `role`. */
export const may = ({ roles }: Pick<Me, 'roles'>, role: Me['roles'][number]): boolean =>
  roles.includes(role) || roles.includes('admin')

export type Theme = 'system' | 'light' | 'dark'
const themes: readonly Theme[] = ['system', 'light', 'dark']

export function readTheme(): Theme {
  const kept = localStorage.getItem(themeKey)
  return themes.find((each) => each === kept) ?? 'system'
}

/** Keeps the theme and shows it. `system`: the one of the operating system. */
export function applyTheme(theme: Theme): void {
  localStorage.setItem(themeKey, theme)
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

/**
 * Takes the one-time code out of the address (`#login=…`), so that it is neither in the history nor in a
 * picture of the page. `null`: the address has none.
 */
export function takeLoginCode(): string | null {
  const code = /^#login=([\w-]{8,200})$/.exec(location.hash)?.[1] ?? null
  if (location.hash.startsWith('#login=')) history.replaceState(null, '', location.pathname + location.search)
  return code
}
