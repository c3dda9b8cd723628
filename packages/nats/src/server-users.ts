// Writes users and their permissions as the configuration of a NATS server.
import type { Permissions } from './permissions.ts'

/**
 * The lines of one user, in the order in which a person reads them.
 *
 * @param login the lines that say how the user logs in, such as `nkey: "U…"`
 * @param indent spaces before each line
 */
export function userLines(
  login: readonly string[],
  { publish, denied = [], subscribe, answers }: Permissions,
  indent = '    ',
): string[] {
  const list = (subjects: readonly string[]): string[] => [
    ...subjects.map(
      (subject, i) => `${indent}      ${JSON.stringify(subject)}${i < subjects.length - 1 ? ',' : ''}`,
    ),
  ]
  return [
    `${indent}{`,
    ...login.map((line) => `${indent}  ${line}`),
    `${indent}  permissions {`,
    `${indent}    publish { allow: [`,
    ...list(publish),
    ...(denied.length === 0
      ? [`${indent}    ] }`]
      : [`${indent}    ], deny: [`, ...list(denied), `${indent}    ] }`]),
    `${indent}    subscribe { allow: [`,
    ...list(subscribe),
    `${indent}    ] }`,
    // A task that somebody waits for may run for days, and its answer is the reply to the first request.
    ...(answers ? [`${indent}    allow_responses { max: 1, expires: "720h" }`] : []),
    `${indent}  }`,
    `${indent}}`,
  ]
}
