/** The name the simulated model answers to: whoever reads a journal or a report sees that no language model was asked. */
export const simulatedModelName = 'beaver-simulated-1'
