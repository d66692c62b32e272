import type { Command } from '../../command.ts'

export const COMPLETION: Command = {
  name: 'completion',
  group: 'Shell',
  summary: 'prints a shell completion script',
  positionals: { usage: 'bash|zsh|fish', min: 1, max: 1 },
  options: [],
  examples: [
    {
      commandLine: 'scopegate completion bash > scopegate.bash',
      description: 'For bash: source the file in ~/.bashrc.',
    },
    {
      commandLine: 'scopegate completion zsh > _scopegate',
      description: 'For zsh: put the file into a folder of $fpath.',
    },
    {
      commandLine: 'scopegate completion fish > scopegate.fish',
      description: 'For fish: put the file into ~/.config/fish/completions.',
    },
  ],
  exits: { 0: 'the script is printed' },
  run: async (given, terminal) => (await import('./completion.ts')).completion(given, terminal),
}
