// The part of the daemon's environment that a tool's child process gets: where programs and the home are, and
// the language settings. It contains no keys and no tokens.

const inherited = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']

export function childEnvironment(
  from: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  return Object.fromEntries(
    inherited.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])),
  )
}

/**
 * The whole environment of this process, for a tool that runs in a child process although it did not ask for
 * one.
 */
export function wholeEnvironment(
  from: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(from).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
