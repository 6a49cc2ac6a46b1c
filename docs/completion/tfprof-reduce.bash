# SPDX-License-Identifier: Apache-2.0
# Completion for bash, made from the program's own tables by `make docs`; `make install` installs it.

# What is completed: `word`, and the option before it in `before`; bash splits --option=value into three words.
_tfprof_reduce_start()
{
	word=${COMP_WORDS[COMP_CWORD]}
	before=${COMP_WORDS[COMP_CWORD - 1]}
	if [[ $word == '=' ]]; then
		word=
	elif [[ $before == '=' ]]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
}

_tfprof_reduce_words() # WORDS
{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word")
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}

_tfprof_reduce_paths() # -d or -f, and for -f a pattern of names that are left out
{
	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen -d -- "$word"; [[ $1 == -d ]] || compgen -f ${2:+-X "$2"} -- "$word")
}

# A word behind the last comma.
_tfprof_reduce_list() # WORDS
{
	local rest=${word##*,}
	local done=${word%"$rest"}
	mapfile -t COMPREPLY < <(compgen -P "$done" -W "$1" -- "$rest")
}

_tfprof_reduce_columns()
{
	local at chosen=
	for ((at = 1; at < COMP_CWORD; at++)); do
		case ${COMP_WORDS[at]} in
		-t | --tables)
			[[ ${COMP_WORDS[at + 1]} == '=' ]] && ((at++))
			chosen=${COMP_WORDS[at + 1]}
			;;
		-t?*) chosen=${COMP_WORDS[at]#-t} ;;
		esac
	done
	case $chosen in
	run_env) _tfprof_reduce_words 'process kind name value host job_rank' ;;
	processes) _tfprof_reduce_words 'process parent host rank command title start_ns duration_ns end threads malloc allocations peak_bytes live_bytes peak_resident_bytes peak_resident_ns events arguments log' ;;
	settings) _tfprof_reduce_words 'process name value source problem host job_rank' ;;
	losses) _tfprof_reduce_words 'process thread kind count first_ns last_ns whole_from_ns severity meaning remedy host job_rank' ;;
	windows) _tfprof_reduce_words 'process opened_ns closed_ns length_ns opened_by closed_by slower live_opened_bytes live_closed_bytes host job_rank' ;;
	window_cost) _tfprof_reduce_words 'process windows inside_steps outside_steps inside_p50_ns outside_p50_ns cost cost_ns cost_low cost_high all_cost host job_rank' ;;
	overview.verdict) _tfprof_reduce_words 'area level percent high_percent moderate_percent sentence next' ;;
	overview.split) _tfprof_reduce_words 'category total_ns per_step_ns share steady_ns steady_step_ns steady_share overlapped_ns column meaning' ;;
	overview.steps) _tfprof_reduce_words 'statistic steps total_ns compilation_ns output_ns input_ns kernel_launch_ns host_compute_ns device_collectives_ns device_to_device_ns device_compute_16bit_ns device_compute_32bit_ns device_compute_ns host_communication_ns other_ns forward_ns backward_ns optimiser_ns communication_ns input_wait_ns input_copy_ns device_compute_tf32_ns device_compute_8bit_ns device_compute_64bit_ns device_compute_unknown_ns compilation_overlapped_ns output_overlapped_ns input_overlapped_ns kernel_launch_overlapped_ns host_compute_overlapped_ns host_communication_overlapped_ns device_collectives_overlapped_ns device_to_device_overlapped_ns' ;;
	overview.flops) _tfprof_reduce_words 'process type flops share source time_ns flops_per_s devices device_name peak_flops_per_s utilisation peak_source host job_rank' ;;
	overview.precision) _tfprof_reduce_words 'precision time_ns time_share kernels kernel_share' ;;
	overview.top_ops) _tfprof_reduce_words 'rank side type name self_ns self_share cumulative_share occurrences tensor_core_share eager flops_per_s' ;;
	overview.placement) _tfprof_reduce_words 'what value of share' ;;
	overview.pie) _tfprof_reduce_words 'side by name self_ns share' ;;
	memory.summary) _tfprof_reduce_words 'scope id allocator allocations frees requested_bytes allocated_bytes freed_bytes live_bytes peak_bytes peak_time_ns requested_peak_bytes requested_peak_time_ns peak_kind process name host job_rank' ;;
	memory.timeline) _tfprof_reduce_words 'time_ns allocator live_bytes reserved_bytes free_bytes fragmentation' ;;
	memory.allocators) _tfprof_reduce_words 'process allocator capacity_bytes lifetime_peak_bytes peak_bytes peak_time_ns stack_bytes heap_bytes free_bytes fragmentation fragmentation_unknown reserved_bytes difference_bytes host job_rank' ;;
	memory.peak) _tfprof_reduce_words 'rank allocator op_name allocated_bytes requested_bytes occurrences region region_source data_type shape process share stack host job_rank' ;;
	memory.events) _tfprof_reduce_words 'time_ns allocator process event requested_bytes allocated_bytes live_bytes fragmentation op_name step region data_type shape host job_rank' ;;
	memory.lifetimes) _tfprof_reduce_words 'rank allocator process allocated_bytes requested_bytes from_ns to_ns lifetime_ns from_step to_step op_name release_op_name region data_type shape peak_time_ns host job_rank' ;;
	memory.sites) _tfprof_reduce_words 'peak_bytes peak_blocks leaked_bytes leaked_blocks total_bytes allocations requested_bytes temporary peak_error_bytes leaked_error_bytes total_error_bytes allocations_error kind allocator processes process function file line module stack host job_rank' ;;
	memory.refused) _tfprof_reduce_words 'time_ns process thread allocator requested_bytes call op_name function file line module stack host job_rank' ;;
	memory.histogram) _tfprof_reduce_words 'allocator size_from_bytes size_to_bytes life_from_ns life_to_ns blocks requested_bytes' ;;
	kernel_stats) _tfprof_reduce_words 'rank kernel_name registers_per_thread static_shared_bytes dynamic_shared_bytes shared_bytes block grid op_name tensor_core_eligible tensor_core_used occurrences total_ns avg_ns min_ns max_ns p50_ns p99_ns occupancy_percent occupancy_limit share tensor_core_source untimed percentiles local_bytes cluster waves device mangled_name class precision deviation_ns fused_ops' ;;
	launches) _tfprof_reduce_words 'host_start_ns host_duration_ns queue_delay_ns device_start_ns device_duration_ns kind name pairing reason process thread device stream correlation_id function op_name bytes records graph impossible stack host job_rank' ;;
	copy_stats) _tfprof_reduce_words 'rank kind source_memory destination_memory manner device peer_devices op_name occurrences total_bytes avg_bytes min_bytes max_bytes total_ns avg_ns min_ns max_ns p50_ns p99_ns bytes_per_s best_bytes_per_s share untimed percentiles deviation_ns' ;;
	api_stats) _tfprof_reduce_words 'rank function library kind result calls total_ns avg_ns min_ns max_ns p50_ns p99_ns share captured nested percentiles deviation_ns' ;;
	sync_stats) _tfprof_reduce_words 'rank function waited_for stream event context process thread occurrences total_ns avg_ns min_ns max_ns p50_ns p99_ns host_ns source untimed percentiles deviation_ns host job_rank' ;;
	device_timeline) _tfprof_reduce_words 'time_ns duration_ns process device stream busy_ns idle_ns overlap_ns kernel_ns copy_ns busy_share host job_rank' ;;
	device_gaps) _tfprof_reduce_words 'time_ns duration_ns process device step cause during during_ns host_late_ns delay_ns compilation_ns input_ns launch_ns host_compute_ns communication_ns wait_ns other_ns previous next op range thread host job_rank' ;;
	critical_path) _tfprof_reduce_words 'process part name op occurrences step_ns share all_ns host job_rank' ;;
	path_pieces) _tfprof_reduce_words 'process start_ns duration_ns part name op thread device stream host job_rank' ;;
	what_if) _tfprof_reduce_words 'process what name takes_ns step_ns half_step_ns half_saves none_step_ns none_saves error host job_rank' ;;
	stream_roles) _tfprof_reduce_words 'process device context stream name role compute_ns collectives_ns copy_in_ns copy_out_ns copy_device_ns memset_ns graph_ns occurrences bytes first_ns last_ns threads order switches host job_rank' ;;
	library_calls) _tfprof_reduce_words 'rank function library arguments op_name process thread calls failed host_ns host_avg_ns host_min_ns host_max_ns host_p50_ns host_p99_ns launches kernels device_ns device_avg_ns kernel_names flops flops_per_s host_deviation_ns host job_rank' ;;
	graph_stats) _tfprof_reduce_words 'process graph launches nodes kernels copies sets device_ns span_ns span_avg_ns span_min_ns span_max_ns host_ns level host job_rank' ;;
	compile_stats) _tfprof_reduce_words 'what function device process occurrences bytes total_ns avg_ns min_ns max_ns p50_ns p99_ns source host job_rank' ;;
	xla_ops) _tfprof_reduce_words 'module number instruction opcode op_name function file line flops transcendentals bytes flops_per_byte shape' ;;
	xla_memory) _tfprof_reduce_words 'module number total_bytes argument_bytes output_bytes reused_bytes temporary_bytes constant_bytes thread_local_bytes allocations' ;;
	op_stats) _tfprof_reduce_words 'rank side type name occurrences total_ns avg_ns self_ns avg_self_ns min_ns max_ns device_self_percent device_cumulative_percent host_self_percent host_cumulative_percent source allocations allocated_bytes forward_name eager tensor_core_eligible tensor_core_share flops flops_per_s deviation_ns' ;;
	op_shapes) _tfprof_reduce_words 'rank type name inputs occurrences total_ns avg_ns self_ns min_ns max_ns deviation_ns device_works device_ns flops flops_per_s source' ;;
	range_stats) _tfprof_reduce_words 'process name domain source occurrences total_ns self_ns avg_ns min_ns max_ns nested marks cut process_wide ended_elsewhere bytes kernels device_ns device_self_ns host job_rank' ;;
	python_time) _tfprof_reduce_words 'function file line own_percent step_own_ns other_own_ns own_error_ns step_self_ns step_total_ns collecting_ns time_own_ns time_self_ns time_total_ns cpu_own_ns cpu_self_ns cpu_total_ns looks processes' ;;
	python_stacks) _tfprof_reduce_words 'time_ns step_ns other_ns cpu_ns looks processes stack' ;;
	python_stats) _tfprof_reduce_words 'function file line allocations_self allocations_total bytes_self bytes_total launches_self launches_total call_self_ns call_total_ns device_self_ns device_total_ns processes' ;;
	native_time) _tfprof_reduce_words 'function module file line cpu_percent cpu_own_ns cpu_error_ns cpu_self_ns cpu_total_ns step_cpu_own_ns step_cpu_self_ns step_cpu_total_ns wait_own_ns wait_self_ns wait_total_ns step_wait_own_ns step_wait_total_ns waits_in looks threads processes' ;;
	native_stacks) _tfprof_reduce_words 'cpu_ns step_cpu_ns wait_ns step_wait_ns waits_in looks threads processes stack' ;;
	step_stats) _tfprof_reduce_words 'step process start_ns total_ns compilation_ns output_ns input_ns kernel_launch_ns host_compute_ns device_collectives_ns device_to_device_ns device_compute_16bit_ns device_compute_32bit_ns device_compute_ns host_communication_ns other_ns forward_ns backward_ns optimiser_ns communication_ns input_wait_ns input_copy_ns device_compute_tf32_ns device_compute_8bit_ns device_compute_64bit_ns device_compute_unknown_ns compilation_overlapped_ns output_overlapped_ns input_overlapped_ns kernel_launch_overlapped_ns host_compute_overlapped_ns host_communication_overlapped_ns device_collectives_overlapped_ns device_to_device_overlapped_ns marked_ns period_ns source confidence name thread unit role forward_start_ns backward_end_ns before_forward_ns forward_backward_ns after_backward_ns flops flops_per_s host job_rank' ;;
	slow_steps) _tfprof_reduce_words 'process step start_ns total_ns slower function file line own_percent own_ns self_ns cpu_own_ns collecting_ns looks host job_rank' ;;
	step_changes) _tfprof_reduce_words 'process from_step to_step steps start_ns p50_ns change part part_ns waited_share trend host job_rank' ;;
	rare_work) _tfprof_reduce_words 'name kind process steps share_of_steps occurrences total_ns step_ns long_steps long_ns host job_rank' ;;
	threads_at_end) _tfprof_reduce_words 'process thread name step since_ns function file line stood_ns looked_ns cpu_ns native waits_in open open_ns last last_ns unfinished unfinished_ns host job_rank' ;;
	ranks) _tfprof_reduce_words 'name rank host process steps step_ns own_ns communication_ns wait_ns turns_ns held_up_ns last_steps slower_in slower_by_ns' ;;
	io_stats) _tfprof_reduce_words 'process path function calls bytes total_ns avg_ns bytes_per_second failed threads first_ns last_ns host job_rank' ;;
	host_usage) _tfprof_reduce_words 'time_ns process thread thread_name length_ns user_ns system_ns cores minor_faults major_faults waits preemptions peak_resident_bytes disk_read_bytes disk_written_bytes load memory_free_bytes reading_ns resident_bytes resident_shared_bytes virtual_bytes read_asked_bytes write_asked_bytes read_calls write_calls storage_read_bytes storage_written_bytes unread group_memory_bytes group_memory_limit_bytes group_swap_bytes group_slowed group_limit_hits group_oom_kills group_memory_stall_ns group_memory_full_stall_ns group_cpu_stall_ns group_io_stall_ns group_cpu_ns group_throttles group_throttled_ns group_cpu_quota_ns group_cpu_period_ns group_storage_read_bytes group_storage_written_bytes host_user_ns host_system_ns host_idle_ns host_iowait_ns host_stolen_ns host_available_bytes host_swap_free_bytes host_memory_stall_ns host_cpu_stall_ns host_io_stall_ns host_received_bytes host_sent_bytes host_dropped host_disk_read_bytes host_disk_written_bytes host_disk_busy_ns thread_run_ns thread_delay_ns thread_slices host job_rank' ;;
	device_usage) _tfprof_reduce_words 'time_ns process device name uuid length_ns busy_percent power temperature sm_clock memory_used_bytes memory_clock graphics_clock sm_clock_max power_limit throttle_reasons memory_busy_percent memory_free_bytes memory_total_bytes memory_reserved_bytes energy performance_state pcie_generation pcie_width ecc_errors processes nvml_error nvml_reading_ns watts_by_energy throttled_by users host job_rank' ;;
	energy) _tfprof_reduce_words 'process device name length_ns energy mean_power peak_power power_limit steps step_energy lowered lowered_by uuid host job_rank' ;;
	recommendations) _tfprof_reduce_words 'rank area rule severity finding remedy gain_share gain_ns assumption measured threshold unit measures change_with evidence' ;;
	rule_evidence) _tfprof_reduce_words 'rank rule table rows column how value unit' ;;
	rules) _tfprof_reduce_words 'rule area state why measured threshold unit measures' ;;
	input.verdict) _tfprof_reduce_words 'pid verdict wait_share steps steps_total_ns wait_total_ns wait_mean_ns wait_min_ns wait_max_ns wait_deviation_ns hidden_ns source stage stage_kind sentence remedy workers workers_at_once workers_busy iterator_outside host job_rank' ;;
	input.host) _tfprof_reduce_words 'pid stage total_ns share remedy host job_rank' ;;
	input.ops) _tfprof_reduce_words 'pid op count total_ns total_share self_ns self_share category host job_rank' ;;
	input.steps) _tfprof_reduce_words 'pid step start_ns total_ns wait_ns wait_share copy_ns hidden_ns host job_rank' ;;
	tf_data.pipelines) _tfprof_reduce_words 'pipeline process calls first_ns min_ns mean_ns max_ns total_ns slow_calls bottleneck bottleneck_ns kind remedy long_name longest_bottleneck longest_bottleneck_ns made host job_rank' ;;
	tf_data.nodes) _tfprof_reduce_words 'pipeline name process calls first_ns min_ns mean_ns max_ns total_ns self_ns slow_self_ns blocking_calls bottleneck_calls critical asynchronous category long_name parent parameters host job_rank' ;;
	comparison.limits) _tfprof_reduce_words 'limit figure outcome reason' ;;
	comparison.environment) _tfprof_reduce_words 'kind name before after' ;;
	comparison.times) _tfprof_reduce_words 'figure before_ns after_ns difference_ns change change_low change_high at_most_ns limit verdict meaning' ;;
	comparison.runs) _tfprof_reduce_words 'side run steps step_p50_ns step_p10_ns step_mean_ns step_cpu_ns step_undelayed_ns waited peak_heap_bytes' ;;
	comparison.memory) _tfprof_reduce_words 'figure before_bytes after_bytes difference_bytes change change_low change_high at_most_bytes limit verdict meaning' ;;
	comparison.counts) _tfprof_reduce_words 'figure before after difference change change_low change_high at_most limit verdict meaning' ;;
	comparison.ops) _tfprof_reduce_words 'name type side before_ns after_ns difference_ns change before_times after_times before_avg_ns after_avg_ns only' ;;
	comparison.kernels) _tfprof_reduce_words 'name type side before_ns after_ns difference_ns change before_times after_times before_avg_ns after_avg_ns only' ;;
	comparison.python) _tfprof_reduce_words 'function file before_ns after_ns difference_ns change error_ns verdict' ;;
	comparison.native) _tfprof_reduce_words 'function module before_ns after_ns difference_ns change error_ns verdict' ;;
	comparison.sites) _tfprof_reduce_words 'before_bytes after_bytes difference_bytes change error_bytes verdict function allocator before_allocations after_allocations script module' ;;
	*) _tfprof_reduce_words 'after after_allocations after_avg_ns after_backward_ns after_bytes after_ns after_times all_cost all_ns allocated_bytes allocations allocations_error allocations_self allocations_total allocator area argument_bytes arguments assumption asynchronous at_most at_most_bytes at_most_ns avg_bytes avg_ns avg_self_ns backward_end_ns backward_ns before before_allocations before_avg_ns before_bytes before_forward_ns before_ns before_times best_bytes_per_s block blocking_calls blocks bottleneck bottleneck_calls bottleneck_ns busy_ns busy_percent busy_share by bytes bytes_per_s bytes_per_second bytes_self bytes_total call call_self_ns call_total_ns calls capacity_bytes captured category cause change change_high change_low change_with class closed_by closed_ns cluster collecting_ns collectives_ns column command communication_ns compilation_ns compilation_overlapped_ns compute_ns confidence constant_bytes context copies copy_device_ns copy_in_ns copy_ns copy_out_ns cores correlation_id cost cost_high cost_low cost_ns count cpu_error_ns cpu_ns cpu_own_ns cpu_percent cpu_self_ns cpu_total_ns critical cumulative_share cut data_type delay_ns destination_memory deviation_ns device device_avg_ns device_collectives_ns device_collectives_overlapped_ns device_compute_16bit_ns device_compute_32bit_ns device_compute_64bit_ns device_compute_8bit_ns device_compute_ns device_compute_tf32_ns device_compute_unknown_ns device_cumulative_percent device_duration_ns device_name device_ns device_self_ns device_self_percent device_start_ns device_to_device_ns device_to_device_overlapped_ns device_total_ns device_works devices difference difference_bytes difference_ns disk_read_bytes disk_written_bytes domain duration_ns during during_ns dynamic_shared_bytes eager ecc_errors end ended_elsewhere energy error error_bytes error_ns event events evidence failed figure file finding first_ns flops flops_per_byte flops_per_s forward_backward_ns forward_name forward_ns forward_start_ns fragmentation fragmentation_unknown free_bytes freed_bytes frees from_ns from_step function fused_ops gain_ns gain_share graph graph_ns graphics_clock grid group_cpu_ns group_cpu_period_ns group_cpu_quota_ns group_cpu_stall_ns group_io_stall_ns group_limit_hits group_memory_bytes group_memory_full_stall_ns group_memory_limit_bytes group_memory_stall_ns group_oom_kills group_slowed group_storage_read_bytes group_storage_written_bytes group_swap_bytes group_throttled_ns group_throttles half_saves half_step_ns heap_bytes held_up_ns hidden_ns high_percent host host_available_bytes host_avg_ns host_communication_ns host_communication_overlapped_ns host_compute_ns host_compute_overlapped_ns host_cpu_stall_ns host_cumulative_percent host_deviation_ns host_disk_busy_ns host_disk_read_bytes host_disk_written_bytes host_dropped host_duration_ns host_idle_ns host_io_stall_ns host_iowait_ns host_late_ns host_max_ns host_memory_stall_ns host_min_ns host_ns host_p50_ns host_p99_ns host_received_bytes host_self_percent host_sent_bytes host_start_ns host_stolen_ns host_swap_free_bytes host_system_ns host_user_ns how id idle_ns impossible input_copy_ns input_ns input_overlapped_ns input_wait_ns inputs inside_p50_ns inside_steps instruction iterator_outside job_rank kernel_launch_ns kernel_launch_overlapped_ns kernel_name kernel_names kernel_ns kernel_share kernels kind last last_ns last_steps launch_ns launches launches_self launches_total leaked_blocks leaked_bytes leaked_error_bytes length_ns level library life_from_ns life_to_ns lifetime_ns lifetime_peak_bytes limit line live_bytes live_closed_bytes live_opened_bytes load local_bytes log long_name long_ns long_steps longest_bottleneck longest_bottleneck_ns looked_ns looks lowered lowered_by made major_faults malloc mangled_name manner marked_ns marks max_bytes max_ns mean_ns mean_power meaning measured measures memory_busy_percent memory_clock memory_free_bytes memory_reserved_bytes memory_total_bytes memory_used_bytes memset_ns min_bytes min_ns minor_faults moderate_percent module name native nested next nodes none_saves none_step_ns number nvml_error nvml_reading_ns occupancy_limit occupancy_percent occurrences of only op op_name opcode open open_ns opened_by opened_ns optimiser_ns order other_ns other_own_ns outcome output_bytes output_ns output_overlapped_ns outside_p50_ns outside_steps overlap_ns overlapped_ns own_error_ns own_ns own_percent p50_ns p99_ns pairing parameters parent part part_ns path pcie_generation pcie_width peak_blocks peak_bytes peak_error_bytes peak_flops_per_s peak_heap_bytes peak_kind peak_power peak_resident_bytes peak_resident_ns peak_source peak_time_ns peer_devices per_step_ns percent percentiles performance_state period_ns pid pipeline power power_limit precision preemptions previous problem process process_wide processes queue_delay_ns range rank read_asked_bytes read_calls reading_ns reason records region region_source registers_per_thread release_op_name remedy requested_bytes requested_peak_bytes requested_peak_time_ns reserved_bytes resident_bytes resident_shared_bytes result reused_bytes role rows rule run scope script self_ns self_share sentence sets severity shape share share_of_steps shared_bytes side since_ns size_from_bytes size_to_bytes slow_calls slow_self_ns slower slower_by_ns slower_in sm_clock sm_clock_max source source_memory span_avg_ns span_max_ns span_min_ns span_ns stack stack_bytes stage stage_kind start_ns state static_shared_bytes statistic steady_ns steady_share steady_step_ns step step_cpu_ns step_cpu_own_ns step_cpu_self_ns step_cpu_total_ns step_energy step_mean_ns step_ns step_own_ns step_p10_ns step_p50_ns step_self_ns step_total_ns step_undelayed_ns step_wait_ns step_wait_own_ns step_wait_total_ns steps steps_total_ns stood_ns storage_read_bytes storage_written_bytes stream switches system_ns table takes_ns temperature temporary temporary_bytes tensor_core_eligible tensor_core_share tensor_core_source tensor_core_used thread thread_delay_ns thread_local_bytes thread_name thread_run_ns thread_slices threads threshold throttle_reasons throttled_by time_ns time_own_ns time_self_ns time_share time_total_ns title to_ns to_step total_bytes total_error_bytes total_ns total_share transcendentals trend turns_ns type unfinished unfinished_ns unit unread untimed user_ns users utilisation uuid value verdict virtual_bytes wait_deviation_ns wait_max_ns wait_mean_ns wait_min_ns wait_ns wait_own_ns wait_self_ns wait_share wait_total_ns waited waited_for waited_share waits waits_in watts_by_energy waves what whole_from_ns why windows workers workers_at_once workers_busy write_asked_bytes write_calls' ;;
	esac
}

_tfprof_reduce()
{
	local word before tables='all comparison input memory overview tf_data run_env processes settings losses windows window_cost overview.verdict overview.split overview.steps overview.flops overview.precision overview.top_ops overview.placement overview.pie memory.summary memory.timeline memory.allocators memory.peak memory.events memory.lifetimes memory.sites memory.refused memory.histogram kernel_stats launches copy_stats api_stats sync_stats device_timeline device_gaps critical_path path_pieces what_if stream_roles library_calls graph_stats compile_stats xla_ops xla_memory op_stats op_shapes range_stats python_time python_stacks python_stats native_time native_stacks step_stats slow_steps step_changes rare_work threads_at_end ranks io_stats host_usage device_usage energy recommendations rule_evidence rules input.verdict input.host input.ops input.steps tf_data.pipelines tf_data.nodes comparison.limits comparison.environment comparison.times comparison.runs comparison.memory comparison.counts comparison.ops comparison.kernels comparison.python comparison.native comparison.sites'
	COMPREPLY=()
	_tfprof_reduce_start
	case $before in
	-t | --tables) _tfprof_reduce_list "$tables"; return ;;
	-f | --format) _tfprof_reduce_words 'text csv json folded pprof markdown html junit baseline prometheus sqlite chrome kineto perfetto xplane'; return ;;
	-o | --output) _tfprof_reduce_paths -f; return ;;
	--html) _tfprof_reduce_paths -f; return ;;
	--run) _tfprof_reduce_words 'all each'; return ;;
	--against) :; return ;;
	--limit) :; return ;;
	--window) :; return ;;
	--process) :; return ;;
	--host) :; return ;;
	--rank) :; return ;;
	--thread) :; return ;;
	--allocator) :; return ;;
	--device) :; return ;;
	--stream) :; return ;;
	--step) :; return ;;
	--split) _tfprof_reduce_words 'ours tf torch'; return ;;
	--step-time) _tfprof_reduce_words 'period span'; return ;;
	--group-by) _tfprof_reduce_words 'op type scope module kernel'; return ;;
	--idle) _tfprof_reduce_words 'in out'; return ;;
	--phase) :; return ;;
	--name) :; return ;;
	--sort) _tfprof_reduce_columns; return ;;
	--top) :; return ;;
	--points) :; return ;;
	--threshold) :; return ;;
	--frames) :; return ;;
	--value) _tfprof_reduce_columns; return ;;
	--temporary) :; return ;;
	--sysroot) _tfprof_reduce_paths -d; return ;;
	--symbols) _tfprof_reduce_paths -d; return ;;
	-j | --jobs) :; return ;;
	--help) [[ ${COMP_WORDS[COMP_CWORD - 1]}${COMP_WORDS[COMP_CWORD]} == *=* ]] &&
		{ _tfprof_reduce_words 'man words'; return; } ;;
	esac
	if [[ $word == -* ]]; then
		_tfprof_reduce_words '--tables= --format= --output= --html= --list --run= --against= --limit= --window= --process= --host= --rank= --thread= --allocator= --device= --stream= --step= --split= --step-time= --group-by= --idle= --phase= --name= --sort= --top= --points= --threshold= --frames= --value= --temporary= --sysroot= --symbols= --check --dump --jobs= --help --version'
	else
		_tfprof_reduce_paths -f '!*.tfp'
	fi
}
complete -F _tfprof_reduce tfprof-reduce
