import type { ReactNode } from 'react';

/** Icons are decoration: whatever carries one also has a name in words. One that `turns` points the other way from right to left. */
function icon(paths: ReactNode, turns = false) {
  return function Icon({ size = 16 }: { size?: number }) {
    return (
      <svg
        width={size}
        height={size}
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
        data-turns={turns || undefined}
      >
        {paths}
      </svg>
    );
  };
}

export const AskIcon = icon(
  <path d="M2.5 4a1.5 1.5 0 0 1 1.5-1.5h8A1.5 1.5 0 0 1 13.5 4v5.5A1.5 1.5 0 0 1 12 11H8l-3.5 2.6V11H4a1.5 1.5 0 0 1-1.5-1.5z" />,
);
export const DocumentsIcon = icon(
  <path d="M4 1.8h5L12.5 5v8.2a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V2.8a1 1 0 0 1 1-1zM9 1.8V5h3.5M5.6 8.2h4.6M5.6 10.9h4.6" />,
);
export const SendIcon = icon(<path d="M8 13V3M3.8 7 8 2.8 12.2 7" />);
export const StopIcon = icon(<rect x="4" y="4" width="8" height="8" rx="1.2" fill="currentColor" />);
export const RetryIcon = icon(<path d="M13 8a5 5 0 1 1-1.6-3.7M13 2.2v2.6h-2.6" />);
export const CopyIcon = icon(
  <path d="M5.5 5.5V3.4c0-.5.4-.9.9-.9h6.2c.5 0 .9.4.9.9v6.2c0 .5-.4.9-.9.9h-2.1M3.4 5.5h6.2c.5 0 .9.4.9.9v6.2c0 .5-.4.9-.9.9H3.4a.9.9 0 0 1-.9-.9V6.4c0-.5.4-.9.9-.9z" />,
);
export const CheckIcon = icon(<path d="m3 8.5 3.2 3.2L13 4.8" />);
export const CloseIcon = icon(<path d="m3.8 3.8 8.4 8.4M12.2 3.8l-8.4 8.4" />);
export const FilterIcon = icon(<path d="M2 4h12M4.2 8h7.6M6.4 12h3.2" />);
export const PlusIcon = icon(<path d="M8 3v10M3 8h10" />);
export const MinusIcon = icon(<path d="M3 8h10" />);
export const UploadIcon = icon(
  <path d="M8 10.5v-8M4.8 5.4 8 2.2l3.2 3.2M2.5 10.5v2a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1v-2" />,
);
export const PasteIcon = icon(
  <path d="M6 2.5h4V4H6zM6 3.2H4.5a1 1 0 0 0-1 1v8.3a1 1 0 0 0 1 1h7a1 1 0 0 0 1-1V4.2a1 1 0 0 0-1-1H10M6 8h4M6 10.6h4" />,
);
export const SampleIcon = icon(
  <path d="M6.2 2.2v4L2.9 12a1.1 1.1 0 0 0 1 1.7h8.2a1.1 1.1 0 0 0 1-1.7L9.8 6.2v-4M5.2 2.2h5.6M4.6 9.6h6.8" />,
);
export const BackIcon = icon(<path d="M13 8H3M7 3.8 2.8 8 7 12.2" />, true);
export const ChevronIcon = icon(<path d="m4.5 6.2 3.5 3.6 3.5-3.6" />);
export const MoreIcon = icon(<path d="M3.4 8h.01M8 8h.01M12.6 8h.01" strokeWidth="2.2" />);
export const TrashIcon = icon(
  <path d="M2.8 4.2h10.4M6.2 4V2.6h3.6V4M4.2 4.4l.6 8.2c0 .5.5.9 1 .9h4.4c.5 0 1-.4 1-.9l.6-8.2" />,
);
export const WarningIcon = icon(<path d="M8 2.4 14.4 13H1.6zM8 6.6v3M8 11.4v.01" />);
export const QuestionIcon = icon(
  <path d="M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM6.3 6.4A1.7 1.7 0 0 1 8 5c1 0 1.8.7 1.8 1.6 0 1.3-1.8 1.3-1.8 2.6M8 11.2v.01" />,
);
export const WhyIcon = icon(
  <>
    <circle cx="3.6" cy="8" r="1.6" />
    <circle cx="12.4" cy="3.6" r="1.6" />
    <circle cx="12.4" cy="12.4" r="1.6" />
    <path d="m5.1 7.3 5.8-3M5.1 8.7l5.8 3" />
  </>,
);
export const CommunitiesIcon = icon(
  <>
    <circle cx="5.4" cy="6" r="3.4" />
    <circle cx="10.6" cy="6" r="3.4" />
    <circle cx="8" cy="10.4" r="3.4" />
  </>,
);
export const TreeIcon = icon(<path d="M6 2.2h4v3H6zM2 10.8h4v3H2zM10 10.8h4v3h-4zM8 5.2V8M4 10.8V8h8v2.8" />);
export const PreferencesIcon = icon(
  <>
    <path d="M2.5 5h4M11.5 5h2M2.5 11h2M9.5 11h4" />
    <circle cx="9" cy="5" r="1.8" />
    <circle cx="7" cy="11" r="1.8" />
  </>,
);
export const LockIcon = icon(<path d="M4.5 7V5a3.5 3.5 0 0 1 7 0v2M3.5 7h9v6.5h-9z" />);
export const OfflineIcon = icon(
  <path d="M2 2l12 12M4.8 9.2a4.6 4.6 0 0 1 2-1.1M2.4 6.8A8 8 0 0 1 5 5.2M8 5a8 8 0 0 1 5.6 1.8M9.6 8.3a4.6 4.6 0 0 1 1.6.9M8 12.4v.01" />,
);
export const LinkIcon = icon(
  <path d="M6.8 9.2a2.4 2.4 0 0 0 3.4 0l2.2-2.2A2.4 2.4 0 0 0 9 3.6l-.8.8M9.2 6.8a2.4 2.4 0 0 0-3.4 0L3.6 9A2.4 2.4 0 0 0 7 12.4l.8-.8" />,
);

export const ActivityIcon = icon(<path d="M1.8 8.4h2.9l2-5.2 2.8 9.6 2-5.4.6 1h2.1" />);
export const SettingsIcon = icon(
  <>
    <path d="M2.2 4.6h5.4M11.4 4.6h2.4M2.2 11.4h2.4M8.4 11.4h5.4" />
    <circle cx="9.5" cy="4.6" r="1.9" />
    <circle cx="6.5" cy="11.4" r="1.9" />
  </>,
);
export const SearchIcon = icon(
  <path d="M7 11.6a4.6 4.6 0 1 0 0-9.2 4.6 4.6 0 0 0 0 9.2zM10.4 10.4l3.4 3.4" />,
);
export const CoinsIcon = icon(
  <path d="M2.4 4.4c0-1 1.9-1.9 4.2-1.9s4.2.9 4.2 1.9-1.9 1.9-4.2 1.9-4.2-.9-4.2-1.9zM2.4 4.4v3.8c0 1 1.9 1.9 4.2 1.9M5.2 11.8c0 1 1.9 1.9 4.2 1.9s4.2-.9 4.2-1.9V8.2c0-1-1.9-1.9-4.2-1.9" />,
);

/** The mark of the product: threads that cross. */
export function Logo({ size = 20 }: { size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 32 32"
      fill="none"
      strokeWidth="3"
      strokeLinecap="round"
      aria-hidden="true"
    >
      <rect width="32" height="32" rx="8" fill="#0c7068" />
      <path d="M8 11h16M8 16h16M8 21h16" stroke="#fff" strokeOpacity=".45" />
      <path d="M11 8v16M21 8v16" stroke="#fff" />
    </svg>
  );
}
export const HistoryIcon = icon(<path d="M2.8 8a5.2 5.2 0 1 0 1.7-3.9M2.6 2.6v2.6h2.6M8 5.2V8l2 1.4" />);
export const CompareIcon = icon(<path d="M2.5 3h4.6v10H2.5zM8.9 3h4.6v10H8.9z" />);
